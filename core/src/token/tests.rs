use std::time::{SystemTime, UNIX_EPOCH};

use ed25519_dalek::{Signer, SigningKey};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::*;

const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut group = [0; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        for digit in 0..=chunk.len() {
            text.push(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize] as char);
        }
    }
    text
}

fn edwards() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

fn keys() -> Keys {
    let set = json!({"keys": [
        {"kty": "oct", "kid": "shared", "alg": "HS256", "k": base64(SECRET)},
        {"kty": "OKP", "crv": "Ed25519", "kid": "public", "x": base64(edwards().verifying_key().as_bytes())},
    ]});
    Keys::parse(&set.to_string()).expect("a sound set")
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("a clock after 1970").as_secs() as i64
}

fn claims() -> Value {
    json!({"aud": "workflow", "sub": "ann", "tenant": "acme", "roles": ["boss"], "exp": now() + 60})
}

fn shared_signature(message: &str, secret: &[u8]) -> Vec<u8> {
    let mut mac: Hmac<Sha256> = Hmac::new_from_slice(secret).expect("any length");
    mac.update(message.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn message(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| base64(value.to_string().as_bytes());
    format!("{}.{}", part(header), part(claims))
}

fn shared(claims: &Value) -> String {
    let message = message(&json!({"alg": "HS256", "kid": "shared"}), claims);
    let signature = base64(&shared_signature(&message, SECRET));
    format!("{message}.{signature}")
}

fn public(claims: &Value) -> String {
    let message = message(&json!({"alg": "EdDSA", "kid": "public"}), claims);
    let signature = base64(&edwards().sign(message.as_bytes()).to_bytes());
    format!("{message}.{signature}")
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    if value == json!("none of it") {
        claims.as_object_mut().expect("an object").remove(name);
    } else {
        claims[name] = value;
    }
    claims
}

#[test]
fn both_signatures_prove_the_person() {
    for sign in [shared, public] {
        let claims = claims();
        assert_eq!(
            keys().verify(&sign(&claims), "workflow"),
            Some(Proven {
                tenant: "acme".into(),
                actor: "ann".into(),
                roles: Some(vec!["boss".into()]),
                expires_at: claims["exp"].as_i64().expect("a number"),
            })
        );
    }
}

#[test]
fn claims_that_are_accepted() {
    let accepted = [
        with("roles", json!("none of it")),
        with("roles", json!([])),
        with("nbf", json!(now() - 5)),
        with("aud", json!(["other", "workflow"])),
        with("exp", json!(now() as f64 + 60.5)),
        with("role", json!("web_user")),
    ];
    for claims in accepted {
        assert!(
            keys().verify(&shared(&claims), "workflow").is_some(),
            "{claims}"
        );
    }
}

#[test]
fn claims_that_are_refused() {
    let refused = [
        with("aud", json!("none of it")),
        with("aud", json!("other")),
        with("aud", json!(["other"])),
        with("aud", json!(7)),
        with("aud", json!([])),
        with("exp", json!("none of it")),
        with("exp", json!(now() - 1)),
        with("exp", json!("2999-01-01")),
        with("exp", json!(-1)),
        with("exp", Value::Null),
        with("nbf", json!(now() + 30)),
        with("nbf", json!("soon")),
        with("sub", json!("none of it")),
        with("sub", json!(7)),
        with("sub", json!(["ann"])),
        with("tenant", json!("none of it")),
        with("tenant", Value::Null),
        with("tenant", json!(["acme"])),
        with("roles", json!("boss")),
        with("roles", json!([7])),
    ];
    for claims in refused {
        for sign in [shared, public] {
            assert_eq!(keys().verify(&sign(&claims), "workflow"), None, "{claims}");
        }
    }
}

#[test]
fn another_audience_is_refused() {
    let token = shared(&claims());
    assert_eq!(keys().verify(&token, "other"), None);
    assert_eq!(keys().verify(&token, ""), None);
}

#[test]
fn headers_and_signatures_that_are_refused() {
    let sign = |header: Value, secret: &[u8]| {
        let message = message(&header, &claims());
        let signature = base64(&shared_signature(&message, secret));
        format!("{message}.{signature}")
    };
    let public_key = edwards().verifying_key().to_bytes();
    let unsigned = |header: Value| format!("{}.", message(&header, &claims()));
    let good = shared(&claims());
    let (head, signature) = good.rsplit_once('.').expect("three parts");
    let swapped = shared(&with("sub", json!("ceo")));
    let (other_head, _) = swapped.rsplit_once('.').expect("three parts");
    let refused = [
        String::new(),
        ".".into(),
        "..".into(),
        "a.b.c".into(),
        head.to_owned(),
        format!("{head}."),
        format!("{good}="),
        format!("{good}.x"),
        format!(" {good}"),
        format!("{other_head}.{signature}"),
        unsigned(json!({"alg": "none", "kid": "shared"})),
        unsigned(json!({"alg": "None", "kid": "shared"})),
        sign(json!({"alg": "none", "kid": "shared"}), SECRET),
        sign(json!({"alg": "HS256"}), SECRET),
        sign(json!({"alg": "HS256", "kid": "gone"}), SECRET),
        sign(json!({"alg": "HS256", "kid": ""}), SECRET),
        sign(json!({"alg": "HS384", "kid": "shared"}), SECRET),
        sign(json!({"alg": "HS512", "kid": "shared"}), SECRET),
        sign(json!({"alg": "RS256", "kid": "shared"}), SECRET),
        sign(json!({"alg": "HS256", "kid": "shared"}), b"another secret"),
        sign(json!({"alg": "HS256", "kid": "shared"}), b""),
        // The public key as if it were a shared secret.
        sign(json!({"alg": "HS256", "kid": "public"}), &public_key),
        // A shared key under the other algorithm's name.
        sign(json!({"alg": "EdDSA", "kid": "shared"}), SECRET),
        // A key that the token brings along.
        sign(
            json!({"alg": "HS256", "kid": "mine", "jwk": {"kty": "oct", "k": base64(SECRET)}}),
            SECRET,
        ),
        // An extension that must be understood, and is not.
        sign(
            json!({"alg": "HS256", "kid": "shared", "crit": ["exp2"], "exp2": 1}),
            SECRET,
        ),
    ];
    for token in refused {
        assert_eq!(keys().verify(&token, "workflow"), None, "{token}");
    }
    assert!(
        keys()
            .verify(
                &sign(json!({"alg": "HS256", "kid": "shared"}), SECRET),
                "workflow"
            )
            .is_some()
    );
}

#[test]
fn a_long_token_is_not_looked_at() {
    let claims = with("more", json!("x".repeat(LONGEST)));
    assert_eq!(keys().verify(&shared(&claims), "workflow"), None);
}

#[test]
fn keys_are_rotated_by_their_id() {
    let both = keys();
    let set = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "public", "x": base64(edwards().verifying_key().as_bytes())}]});
    let one = Keys::parse(&set.to_string()).expect("a sound set");
    assert!(both.has_secret() && !one.has_secret());
    assert!(both.verify(&shared(&claims()), "workflow").is_some());
    assert_eq!(one.verify(&shared(&claims()), "workflow"), None);
    assert!(one.verify(&public(&claims()), "workflow").is_some());
}

#[test]
fn sets_that_are_refused_without_showing_them() {
    let secret = base64(SECRET);
    let refused = [
        json!([]),
        json!({}),
        json!({"keys": {}}),
        json!({"keys": [{"kty": "oct", "k": secret}]}),
        json!({"keys": [{"kty": "oct", "kid": "", "k": secret}]}),
        json!({"keys": [{"kty": "oct", "kid": "a", "k": secret, "alg": "HS512"}]}),
        json!({"keys": [{"kty": "oct", "kid": "a", "k": secret, "use": "enc"}]}),
        json!({"keys": [{"kty": "oct", "kid": "a", "k": base64(&SECRET[1..])}]}),
        json!({"keys": [{"kty": "oct", "kid": "a", "k": format!("{secret}!")}]}),
        json!({"keys": [{"kty": "oct", "kid": "a"}]}),
        json!({"keys": [{"kty": "RSA", "kid": "a", "n": secret, "e": "AQAB"}]}),
        json!({"keys": [{"kty": "OKP", "kid": "a", "crv": "Ed448", "x": secret}]}),
        json!({"keys": [{"kty": "OKP", "kid": "a", "crv": "Ed25519", "x": secret, "d": secret}]}),
        json!({"keys": [{"kty": "OKP", "kid": "a", "crv": "Ed25519", "x": base64(&SECRET[1..])}]}),
        json!({"keys": [{"kty": "oct", "kid": "a", "k": secret}, {"kty": "oct", "kid": "a", "k": secret}]}),
    ];
    for set in refused {
        let wrong = Keys::parse(&set.to_string()).expect_err("refused");
        assert!(!wrong.contains(&secret[..8]), "{wrong}");
    }
    assert!(Keys::parse("{").is_err());
    assert_eq!(format!("{:?}", keys()), "2 keys");
}
