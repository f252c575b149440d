pub fn check() {}
