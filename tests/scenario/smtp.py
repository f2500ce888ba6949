"""A mail server (SMTP) that keeps what it is given and does as it is told."""
import base64
import email
import email.policy
import socket
import threading


class MailServer:
    """context: an ssl.SSLContext to offer STARTTLS with, or, with implicit, to begin with.
    user: (name, password) that it wants. says: {verb: answer} instead of its own; "hang" never answers.
    A verb may be a whole line, in capitals, too; "END" is the end of a mail's text, and its
    answer may be a function that returns it, when it likes.
    texts: of the mails, as they came over the wire.
    held: a socket with the address that it is to have, which does not listen yet."""

    def __init__(self, context=None, implicit=False, user=None, says=None, held=None):
        self.context, self.implicit, self.user, self.says = context, implicit, user, says or {}
        self.mails, self.texts, self.lines, self.lock = [], [], [], threading.Lock()
        self.listener = held or socket.create_server(("127.0.0.1", 0))
        self.listener.listen()
        self.port = self.listener.getsockname()[1]
        self.ended = threading.Event()
        threading.Thread(target=self.accept, daemon=True).start()

    def answer_late(self, answer, seconds):
        """To the end of a text; returns an event that is set when a text has come."""
        came = threading.Event()

        def end():
            came.set()
            self.ended.wait(seconds)
            return answer
        self.says["END"] = end
        return came

    def url(self, scheme="smtp", host="localhost"):
        return "%s://%s:%d" % (scheme, host, self.port)

    def close(self):
        self.ended.set()
        self.listener.close()

    def accept(self):
        while not self.ended.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            if self.implicit:
                connection = self.context.wrap_socket(connection, server_side=True)
            self.talk(connection)
        except OSError:
            pass
        finally:
            connection.close()

    def talk(self, s):
        lines, secure, known, mail = s.makefile("rb"), self.implicit, self.user is None, {}
        s.sendall(b"220 test ESMTP\r\n")
        for line in lines:
            line = line.decode().rstrip("\r\n")
            verb = line.split(" ")[0].upper()
            with self.lock:
                self.lines.append(line)
            answer = self.says.get(line.upper()) or self.says.get(verb)
            if answer == "hang":
                self.ended.wait(120)
                return
            if answer:
                s.sendall(answer.encode() + b"\r\n")
            elif verb == "EHLO":
                offers = ["STARTTLS"] * bool(self.context and not secure) + ["AUTH PLAIN"] * bool(self.user)
                s.sendall("".join("250-%s\r\n" % one for one in ["test", *offers]).encode() + b"250 8BITMIME\r\n")
            elif verb == "STARTTLS":
                s.sendall(b"220 go\r\n")
                s = self.context.wrap_socket(s, server_side=True)
                lines, secure = s.makefile("rb"), True
                return self.talk_on(s, lines, known, mail)
            else:
                known = self.step(s, lines, verb, line, known, mail)

    def talk_on(self, s, lines, known, mail):
        for line in lines:
            line = line.decode().rstrip("\r\n")
            with self.lock:
                self.lines.append(line)
            verb = line.split(" ")[0].upper()
            if verb == "EHLO":
                s.sendall(b"250-test\r\n" + b"250-AUTH PLAIN\r\n" * bool(self.user) + b"250 8BITMIME\r\n")
            else:
                known = self.step(s, lines, verb, line, known, mail)

    def step(self, s, lines, verb, line, known, mail):
        def say(text):
            s.sendall(text.encode() + b"\r\n")

        if verb == "AUTH":
            given = line.split(" ")[2] if line.count(" ") == 2 else None
            if given is None:
                say("334 ")
                given = next(lines).decode().strip()
            known = tuple(base64.b64decode(given).decode().split("\0")[1:]) == self.user
            say("235 good" if known else "535 wrong user or password")
        elif not known:
            say("530 sign in first")
        elif verb == "DATA":
            say("354 go on")
            text = b""
            for part in iter(lambda: next(lines), b".\r\n"):
                text += part[1:] if part.startswith(b"..") else part
            answer = self.says.get("END", "250 kept")
            answer = answer() if callable(answer) else answer
            with self.lock:
                if answer.startswith("2"):
                    self.texts.append(text)
                    kept = text.replace(b"\r\n", b"\n")  # as in a mailbox
                    self.mails.append((dict(mail), email.message_from_bytes(kept, policy=email.policy.default)))
            say(answer)
        elif verb == "QUIT":
            say("221 bye")
        else:
            if verb in ("MAIL", "RCPT"):
                mail[verb] = line
            say("250 good")
        return known
