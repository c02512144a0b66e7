import HummingbirdCore

#if TLS
    import HummingbirdTLS
    import NIOSSL
#endif

/// The certificate and private key for HTTPS without a proxy.
struct TLSFiles {
    #if TLS
        private let configuration: TLSConfiguration
    #endif

    /// Reads the files; nil for plain HTTP.
    init?(certificate: String?, key: String?) throws {
        #if TLS
            guard let certificate, let key else { return nil }
            do {
                let chain = try NIOSSLCertificate.fromPEMFile(certificate).map {
                    NIOSSLCertificateSource.certificate($0)
                }
                let privateKey = try NIOSSLPrivateKey(file: key, format: .pem)
                configuration = .makeServerConfiguration(certificateChain: chain, privateKey: .privateKey(privateKey))
            } catch {
                throw TLSFilesError(certificate: certificate, key: key)
            }
        #else
            return nil
        #endif
    }

    func wrap(_ server: HTTPServerBuilder) throws -> HTTPServerBuilder {
        #if TLS
            try .tls(server, tlsConfiguration: configuration)
        #else
            server
        #endif
    }
}

/// The error of a file that holds no certificate or no key.
struct TLSFilesError: Error, CustomStringConvertible {
    var certificate: String
    var key: String

    var description: String {
        "\(certificate) and \(key) are not a certificate chain and its private key in PEM form, or cannot be read."
    }
}
