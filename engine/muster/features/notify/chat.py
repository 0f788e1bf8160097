"""Posts messages to chats: in Slack's form, and as the cards that workflows of Microsoft Teams take.

Source of the cards: the trigger "When a Teams webhook request is received", and Adaptive Cards 1.4.
"""

import json

from cloudevents.core.bindings.http import HTTPMessage

from muster.data.tree import Tree
from muster.features.pulses.http import HttpSink

_SIGNS = {"info": "ℹ️", "warning": "⚠️", "critical": "🚨"}
#: Bytes of text in a card, which JSON may double.
_MAX_CARD = 12_000
_INERT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "＠", "`": "'"})


class ChatSink(HttpSink):
    """Posts messages as `{"text": ...}`."""

    def _message(self, event: Tree) -> HTTPMessage:
        data = event["data"]
        shown = str(data["text"]).translate(_INERT)
        title = f"{_SIGNS.get(str(data['severity']), '')} {str(event['subject']).translate(_INERT)}".strip()
        body = json.dumps({"text": f"{title}\n```\n{shown}\n```\n{event['id']}"}).encode()
        return HTTPMessage(headers={"Content-Type": "application/json", "Muster-Id": str(event["id"])}, body=body)


class TeamsSink(HttpSink):
    """Posts messages as Adaptive Cards. Their RichTextBlocks show text as it is: no markup, links or mentions."""

    def _message(self, event: Tree) -> HTTPMessage:
        data = event["data"]
        title = f"{_SIGNS.get(str(data['severity']), '')} {event['subject']}".strip()
        texts = (
            {"text": title, "weight": "Bolder"},
            {"text": _clipped(data["text"]), "fontType": "Monospace"},
            {"text": event["id"], "size": "Small", "isSubtle": True},
        )
        card = {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": "1.4",
            "body": [{"type": "RichTextBlock", "inlines": [{"type": "TextRun", **text}]} for text in texts],
        }
        kind = "application/vnd.microsoft.card.adaptive"
        body = {"type": "message", "attachments": [{"contentType": kind, "contentUrl": None, "content": card}]}
        headers = {"Content-Type": "application/json", "Muster-Id": str(event["id"])}
        return HTTPMessage(headers=headers, body=json.dumps(body, ensure_ascii=False).encode())


def _clipped(text: str) -> str:
    """The text, as far as a card has room: Teams refuses messages of more than 28 KB."""
    data = text.encode()
    return text if len(data) <= _MAX_CARD else f"{data[:_MAX_CARD].decode(errors='ignore')}..."
