//! The two signatures that tokens may carry, from RustCrypto, as a provider for `jsonwebtoken`. The
//! provider that comes with that crate brings RSA and the NIST curves along; nothing here signs.

use ed25519_dalek::{Signature, VerifyingKey};
use hmac::{Hmac, KeyInit, Mac};
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, EncodingKey};
use sha2::Sha256;

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: no_signer,
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes it the one that `jsonwebtoken` uses; once is enough.
pub fn install() {
    // Refused if it is there already, which is as good.
    let _ = PROVIDER.install_default();
}

fn no_signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    Err(ErrorKind::UnsupportedAlgorithm.into())
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    // The algorithm is the token's word, the family is the key's: they must agree, or a public key
    // would serve as a shared secret.
    match (algorithm, key.family()) {
        (Algorithm::HS256, AlgorithmFamily::Hmac) => {
            let mac = Hmac::new_from_slice(key.try_get_as_bytes()?)
                .map_err(|_| ErrorKind::InvalidKeyFormat)?;
            Ok(Box::new(Shared(mac)))
        }
        (Algorithm::EdDSA, AlgorithmFamily::Ed) => {
            let bytes = <&[u8; 32]>::try_from(key.try_get_as_bytes()?)
                .map_err(|_| ErrorKind::InvalidEddsaKey)?;
            let key = VerifyingKey::from_bytes(bytes).map_err(|_| ErrorKind::InvalidEddsaKey)?;
            Ok(Box::new(Public(key)))
        }
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

struct Shared(Hmac<Sha256>);

impl Verifier<Vec<u8>> for Shared {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let mut mac = self.0.clone();
        mac.update(message);
        mac.verify_slice(signature).map_err(|_| Error::new())
    }
}

impl JwtVerifier for Shared {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

struct Public(VerifyingKey);

impl Verifier<Vec<u8>> for Public {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let signature = Signature::from_slice(signature).map_err(|_| Error::new())?;
        self.0
            .verify_strict(message, &signature)
            .map_err(|_| Error::new())
    }
}

impl JwtVerifier for Public {
    fn algorithm(&self) -> Algorithm {
        Algorithm::EdDSA
    }
}
