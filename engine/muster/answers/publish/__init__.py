"""Publishing pulses: events go out after what they follow from is durable, and are remembered once they arrived.

sinks     what a receiver is, and how an event is tried again
lines     standard output, and files of JSON lines
http      HTTP and HTTPS, binary or structured mode
amqp      RabbitMQ
memory    what went out, in a git ref of its own
publish   which event goes to which sink, and what is remembered of it
"""
