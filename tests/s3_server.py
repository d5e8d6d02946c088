"""An S3 server (moto) of this process, and what it takes to be its client."""

import datetime
import logging
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address

from object_server import serve

__all__ = ["Bucket", "make_certificates", "serve_bucket"]

NAME = "videos"


@dataclass
class Bucket:
    """The bucket `videos`: `url` reaches moto, `front` is a server before it that counts."""

    url: str
    front: object
    backend: object

    def put(self, key, data):
        """Store an object at once, without a request."""
        self.backend.put_object(NAME, key, data)

    def clear(self):
        self.backend.reset()
        self.backend.create_bucket(NAME, "us-east-1")
        self.front.answers.clear()
        self.front.delay = 0.0
        self.front.forget()


@contextmanager
def serve_bucket():
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.s3.models import s3_backends
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    try:
        url = "http://{}:{}".format(*moto.get_host_and_port())
        with serve(upstream=url) as front:
            yield Bucket(url, front, s3_backends[DEFAULT_ACCOUNT_ID]["aws"])
    finally:
        moto.stop()


def sign_in(monkeypatch, url, key="AKIAEXAMPLE", secret="secret"):
    """Set the environment of a client."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)


def make_certificates(folder):
    """Files of an authority's certificate, and of a certificate and key that it signed."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now = datetime.datetime.now(datetime.UTC)

    def certified(name, key, issuer, issuer_key, *, is_authority):
        """A certificate for two days."""
        made = (
            x509.CertificateBuilder()
            .subject_name(named(name))
            .issuer_name(named(issuer))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]),
                critical=False,
            )
            .sign(issuer_key, hashes.SHA256())
        )
        path = folder / f"{name}.pem"
        path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        return path

    def named(name):
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])

    authority, server = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    private = folder / "key.pem"
    private.write_bytes(
        server.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    trusted = certified("authority", authority, "authority", authority, is_authority=True)
    own = certified("server", server, "authority", authority, is_authority=False)
    return trusted, own, private
