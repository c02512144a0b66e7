import HummingbirdCore
import Logging

#if TLS
    import HummingbirdTLS
    import NIOSSL
#endif

/// HTTPS without a proxy: a certificate and its private key, read again when their files change.
struct TLSFiles {
    #if TLS
        private let certificate: ServedCertificate
    #endif

    /// Reads the files; nil for plain HTTP.
    init?(certificate: String?, key: String?, logger: Logger) throws {
        #if TLS
            guard let certificate, let key else { return nil }
            self.certificate = try ServedCertificate(certificateFile: certificate, keyFile: key, logger: logger)
        #else
            return nil
        #endif
    }

    func wrap(_ server: HTTPServerBuilder) throws -> HTTPServerBuilder {
        #if TLS
            let first = certificate.current()
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: first.chain, privateKey: first.key)
            configuration.sslContextCallback = { [certificate] _, promise in
                // Not on the thread of the connection: a file that cannot be parsed leaves errors to BoringSSL's queue of the thread, which
                // a handshake that goes on there takes for its own.
                Task {
                    let current = certificate.current()
                    var change = NIOSSLContextConfigurationOverride()
                    change.certificateChain = current.chain
                    change.privateKey = current.key
                    promise.succeed(change)
                }
            }
            return try .tls(server, tlsConfiguration: configuration)
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
