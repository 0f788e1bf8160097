"""What is missed: objects of the last run that nothing declares any more, though nobody removed them."""
