//! Signed identity tokens (JWT) and the keys that verify them.
//!
//! The keys are a JSON Web Key Set (RFC 7517) of Ed25519 public keys (`OKP`) and shared secrets for
//! HS256 (`oct`). A token names its key by `kid`, so keys are rotated by having the old and the new
//! one in the set for a while. What a token says counts only if everything about it is right; there is
//! one answer for all that can be wrong, so that trying tells nothing.

mod crypto;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;

use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, Validation};
use serde::Deserialize;
use serde_json::Value;

/// Longest token that is looked at, in bytes.
const LONGEST: usize = 8192;
/// A shared secret for HS256 has at least as many bytes as its digest (RFC 7518, 3.2).
const SHORTEST_SECRET: usize = 32;

/// What a token proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proven {
    /// Claim `tenant`.
    pub tenant: String,
    /// Claim `sub`.
    pub actor: String,
    /// Claim `roles`, where the token has it.
    pub roles: Option<Vec<String>>,
    /// Claim `exp`: from this second of the Unix epoch on it proves nothing.
    pub expires_at: i64,
}

/// The identity in a set of claims, whoever verified them.
#[derive(Debug, Deserialize)]
pub struct Claims {
    /// The boundary of what the person sees.
    pub tenant: String,
    /// The person.
    pub sub: String,
    /// Their roles; without it those of the tenant's members list.
    #[serde(default)]
    pub roles: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct TokenClaims {
    #[serde(flatten)]
    identity: Claims,
    exp: f64,
}

/// Verification keys by key id.
pub struct Keys {
    by_id: HashMap<String, DecodingKey>,
}

/// Never shows a key.
impl fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} keys", self.by_id.len())
    }
}

impl Keys {
    /// Reads a key set. What is wrong with it is said without showing any of it.
    pub fn parse(set: &str) -> Result<Keys, String> {
        let set: Value = serde_json::from_str(set).map_err(|_| "it is not JSON")?;
        let keys = set
            .get("keys")
            .and_then(Value::as_array)
            .ok_or("it is no JSON Web Key Set: there is no array keys")?;
        let mut by_id = HashMap::new();
        for (number, key) in keys.iter().enumerate() {
            let (id, key) =
                read_key(key).map_err(|wrong| format!("key number {}: {wrong}", number + 1))?;
            if by_id.insert(id, key).is_some() {
                return Err(format!("key number {}: its kid is not unique", number + 1));
            }
        }
        Ok(Keys { by_id })
    }

    /// Whether there is a shared secret among them.
    pub fn has_secret(&self) -> bool {
        self.by_id
            .values()
            .any(|key| key.family() == AlgorithmFamily::Hmac)
    }

    /// What a token for this audience proves now; `None` if there is anything wrong with it.
    pub fn verify(&self, token: &str, audience: &str) -> Option<Proven> {
        if token.len() > LONGEST || audience.is_empty() {
            return None;
        }
        let header = jsonwebtoken::decode_header(token).ok()?;
        let key = self.by_id.get(header.kid.as_deref()?)?;
        let algorithm = match key.family() {
            AlgorithmFamily::Hmac => Algorithm::HS256,
            _ => Algorithm::EdDSA,
        };
        let mut validation = Validation::new(algorithm);
        validation.leeway = 0;
        validation.validate_nbf = true;
        validation.set_audience(&[audience]);
        validation.set_required_spec_claims(&["exp", "aud", "sub"]);
        crypto::install();
        let claims = jsonwebtoken::decode::<TokenClaims>(token, key, &validation)
            .ok()?
            .claims;
        Some(Proven {
            tenant: claims.identity.tenant,
            actor: claims.identity.sub,
            roles: claims.identity.roles,
            // The second it is expired at, not the one before.
            expires_at: claims.exp as i64,
        })
    }
}

fn read_key(key: &Value) -> Result<(String, DecodingKey), &'static str> {
    let text = |name: &str| key.get(name).and_then(Value::as_str);
    let id = text("kid")
        .filter(|id| !id.is_empty())
        .ok_or("it has no kid")?;
    let algorithm = text("alg");
    if text("use").is_some_and(|purpose| purpose != "sig") {
        return Err("its use is not sig");
    }
    let read = match text("kty") {
        Some("oct") if algorithm.is_none_or(|name| name == "HS256") => {
            let secret = serde_json::from_value(key.clone()).map_err(|_| "it is malformed")?;
            let key = DecodingKey::from_jwk(&secret).map_err(|_| "it is malformed")?;
            if length(&key) < SHORTEST_SECRET {
                return Err("a secret for HS256 has at least 32 bytes");
            }
            key
        }
        Some("OKP") if algorithm.is_none_or(|name| name == "EdDSA" || name == "Ed25519") => {
            if text("crv") != Some("Ed25519") {
                return Err("its curve is not Ed25519");
            }
            if text("d").is_some() {
                return Err("it is a private key: only the public one belongs here");
            }
            let x = text("x").ok_or("it is malformed")?;
            let key = DecodingKey::from_ed_components(x).map_err(|_| "it is malformed")?;
            if length(&key) != 32 {
                return Err("an Ed25519 public key has 32 bytes");
            }
            key
        }
        Some("oct" | "OKP") => return Err("its alg is neither HS256 nor EdDSA"),
        _ => return Err("its kty is neither oct nor OKP"),
    };
    Ok((id.to_owned(), read))
}

fn length(key: &DecodingKey) -> usize {
    key.try_get_as_bytes().map_or(0, <[u8]>::len)
}
