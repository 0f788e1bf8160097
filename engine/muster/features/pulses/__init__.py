"""Publishing pulses: events go out after what they follow from is durable, and are remembered once they arrived.

sinks     what a receiver is, and how an event is tried again
lines     standard output, and files of JSON lines
http      HTTP and HTTPS, binary or structured mode
amqp      RabbitMQ
publish   which event goes to which sink, and what is remembered of it (`muster.git.pulse_memory`)
notify    transitions to people: what is told, remembered and sent
chat      messages for Slack and its like
mail      messages over SMTP
follow    a stream of due pulses for adapters that pull
"""
