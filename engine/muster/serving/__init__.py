"""HTTP that muster serves: connections, greetings, tokens. What is answered is for those who serve."""
