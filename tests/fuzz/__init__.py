"""What eats bytes that somebody else wrote, one function each (`targets`), and atheris, which finds it bytes to eat
(`python -m tests.fuzz TARGET SECONDS`)."""
