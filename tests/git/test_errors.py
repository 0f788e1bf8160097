"""What git complains about, in words that say what to do; and never a password."""

import pytest

from muster.git.errors import LockedError, Rejected, RepositoryError, complaint, explain, remote_text


@pytest.mark.parametrize(
    ("stderr", "message", "hint"),
    [
        (
            "fatal: detected dubious ownership in repository at '/srv/fleet'",
            "the repository /srv/fleet belongs to another user, and git does not trust it",
            "if you trust it: git config --global --add safe.directory /srv/fleet",
        ),
        (
            "fatal: Unable to create '/f/.git/index.lock': File exists.\n\nAnother git process seems to be running",
            "another git process holds /f/.git/index.lock",
            "wait for it to end",
        ),
        (
            "fatal: unknown repository extension found:\n\trefstorage",
            "git fetch: unknown repository extension found:",
            "upgrade git",
        ),
        ("fatal: unable to access 'https://x/': Could not resolve host: x", "Could not resolve host", "check the URL"),
        (
            "ssh: connect to host x port 22: Connection refused\nfatal: Could not read from remote repository.",
            "Could not read from remote repository",
            "the remote does not answer",
        ),
        (
            "fatal: could not read Username for 'https://x': terminal prompts disabled",
            "could not read Username",
            "a credential helper, a token or an ssh key",
        ),
        ("fatal: mismatched algorithms: client sha1; server sha256", "names objects by another hash", "in a clone"),
        ("fatal: '/nowhere' does not appear to be a git repository", "does not appear to be", "git remote -v"),
        ("fatal: couldn't find remote ref refs/heads/x", "remote ref refs/heads/x", "git ls-remote --heads"),
        ("fatal: transport 'ext' not allowed", "transport 'ext' not allowed", "use a file, ssh, git or https URL"),
        ("error: file write error: No space left on device", "No space left on device", "free some space"),
        (
            "error: insufficient permission for adding an object to database .git/objects",
            "insufficient permission",
            "who owns the repository's files",
        ),
        ("fatal: loose object 1234 is corrupt", "loose object 1234 is corrupt", "git fsck --full"),
        ("something else", "git fetch: something else", ""),
    ],
)
def test_what_is_said_of_it(stderr: str, message: str, hint: str) -> None:
    error = explain("fetch", stderr, 128)
    assert message in error.message
    assert hint in error.hint
    assert bool(hint) == bool(error.hint)


@pytest.mark.parametrize(
    ("stderr", "line"),
    [
        ("warning: x\nerror: a\nfatal: b\nhint: c", "b"),
        ("remote: x\nerror: a\nerror: b", "a"),
        ("one\n\n two \n", "two"),
        ("", "ended with status 7"),
    ],
)
def test_the_line_that_says_why(stderr: str, line: str) -> None:
    assert complaint(stderr, 7) == line


@pytest.mark.parametrize(
    ("stderr", "locked"),
    [
        ("error: cannot lock ref 'refs/heads/x': Unable to create '/f/.git/refs/heads/x.lock': File exists.", True),
        ("error: cannot lock ref 'refs/heads/x': is at 1234 but expected 5678", True),
        ("error: cannot lock ref 'refs/heads/x': Unable to create '/f/x.lock': Permission denied", False),
        ("fatal: '/srv/locks/fleet' does not appear to be a git repository", False),
    ],
)
def test_what_may_be_over_in_a_moment(stderr: str, *, locked: bool) -> None:
    assert isinstance(explain("fetch", stderr, 128), LockedError) is locked


def test_a_password_in_a_url_is_left_out() -> None:
    error = explain("push", "fatal: unable to access 'https://ada:s3cret@x/': Could not resolve host: x", 128)
    assert "https://x/" in error.message
    assert "s3cret" not in error.message + error.hint


def test_what_a_server_says_moves_no_cursor() -> None:
    error = RepositoryError("remote: \x1b[2Jhello\x07", "one\ntwo\r\x9b31m")
    assert (error.message, error.hint) == ("remote: \\x1b[2Jhello\\x07", "one\ntwo\\r\\x9b31m")


@pytest.mark.parametrize(
    ("stderr", "text"),
    [
        (
            """\
remote: error: GH006: Protected branch update failed for refs/heads/main.
remote: error: Changes must be made through a pull request.
To https://example.com/f.git
error: failed to push some refs to 'https://example.com/f.git'
""",
            """\
GH006: Protected branch update failed for refs/heads/main.
Changes must be made through a pull request.""",
        ),
        (
            """\
remote:
remote: ========================================
remote:
remote: ERROR: You are not allowed to push code to protected branches.
remote:
remote: ========================================
""",
            "You are not allowed to push code to protected branches.",
        ),
        ("remote: GitLab: You are not allowed\nremote: GitLab: You are not allowed\n", "You are not allowed"),
        ("remote: \nremote: Gitea: Not allowed to push\n", "Not allowed to push"),
        ("remote: error:\nremote: error: error: no\n", "no"),
        ("remote: - Use a pull request.\n", "- Use a pull request."),
        ("fatal: elsewhere\n", ""),
    ],
)
def test_what_a_forge_says_is_read_once(stderr: str, text: str) -> None:
    assert remote_text(stderr) == text
    lines = str(Rejected("hook declined", text)).splitlines()
    assert lines == ["hook declined", *(f"  {line}" for line in text.splitlines())]


def test_a_remote_that_says_very_much_is_cut() -> None:
    lines = remote_text("".join(f"remote: {number} {'x' * 1000}\n" for number in range(1000))).splitlines()
    assert (len(lines), max(map(len, lines))) == (12, 300)
