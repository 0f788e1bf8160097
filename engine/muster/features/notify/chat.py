"""Posts messages to chats that take Slack's form."""

import json

from cloudevents.core.bindings.http import HTTPMessage

from muster.data.tree import Tree
from muster.features.pulses.http import HttpSink

_SIGNS = {"info": "ℹ️", "warning": "⚠️", "critical": "🚨"}
_INERT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "＠", "`": "'"})


class ChatSink(HttpSink):
    """Posts messages as `{"text": ...}`."""

    def _message(self, event: Tree) -> HTTPMessage:
        data = event["data"]
        shown = str(data["text"]).translate(_INERT)
        title = f"{_SIGNS.get(str(data['severity']), '')} {str(event['subject']).translate(_INERT)}".strip()
        body = json.dumps({"text": f"{title}\n```\n{shown}\n```\n{event['id']}"}).encode()
        return HTTPMessage(headers={"Content-Type": "application/json", "Muster-Id": str(event["id"])}, body=body)
