#if TLS
    import Crypto
    import CryptoExtras
    import Foundation

    /// The keys of certificates.
    enum CertificateKey {
        /// Returns the public key of a private one, as certificates have it (SubjectPublicKeyInfo); nil for a kind of key that is not known here.
        static func publicKey(ofPrivateKey pem: String) -> [UInt8]? {
            if let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) {
                return Array(key.publicKey.derRepresentation)
            }
            if let key = try? P384.Signing.PrivateKey(pemRepresentation: pem) {
                return Array(key.publicKey.derRepresentation)
            }
            if let key = try? P521.Signing.PrivateKey(pemRepresentation: pem) {
                return Array(key.publicKey.derRepresentation)
            }
            if let key = try? _RSA.Signing.PrivateKey(pemRepresentation: pem) {
                return Array(key.publicKey.derRepresentation)
            }
            return nil
        }
    }
#endif
