"""What the doctor looks at: whether models can be reached and used, and whether a judge can tell an obvious winner."""

from screentest.builders.doctor.contact import Contact, contact
from screentest.builders.doctor.finding import Finding
from screentest.builders.doctor.trial import LanguageTrial, Trial, canned_pairs, try_judge

__all__ = ["Contact", "Finding", "LanguageTrial", "Trial", "canned_pairs", "contact", "try_judge"]
