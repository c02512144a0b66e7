#if TLS
    import Foundation
    import Logging
    import NIOSSL
    import Synchronization

    /// The certificate chain and the key that new connections get, as their two files have them.
    final class ServedCertificate: Sendable {
        /// A certificate chain with its key.
        struct Pair: Sendable {
            var chain: [NIOSSLCertificateSource]
            var key: NIOSSLPrivateKeySource
        }

        /// What tells one state of a file from another: programs that renew certificates replace the file or write into it.
        private struct Stamp: Equatable {
            var inode: UInt64
            var size: Int64
            var seconds: Int
            var nanoseconds: Int

            /// nil for a file that is not there.
            init?(of path: String) {
                var status = stat()
                guard stat(path, &status) == 0 else { return nil }
                inode = UInt64(status.st_ino)
                size = Int64(status.st_size)
                seconds = Int(status.st_mtim.tv_sec)
                nanoseconds = Int(status.st_mtim.tv_nsec)
            }
        }

        private struct State {
            var pair: Pair
            var stamps: [Stamp?]
        }

        private let certificateFile: String
        private let keyFile: String
        private let logger: Logger
        private let state: Mutex<State>

        /// Reads the files.
        ///
        /// - Throws: `TLSFilesError`.
        init(certificateFile: String, keyFile: String, logger: Logger) throws {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
            self.logger = logger
            let stamps = [Stamp(of: certificateFile), Stamp(of: keyFile)]
            state = Mutex(State(pair: try Self.read(certificateFile, keyFile), stamps: stamps))
        }

        /// Returns the pair for a new connection. Files that changed are read again; while they are not a certificate and its
        /// key, for example between the writes of the one and the other, the pair from before stays.
        func current() -> Pair {
            let stamps = [Stamp(of: certificateFile), Stamp(of: keyFile)]
            return state.withLock { state in
                if state.stamps == stamps { return state.pair }
                state.stamps = stamps
                do {
                    state.pair = try Self.read(certificateFile, keyFile)
                    logger.notice("certificate read again", metadata: ["file": "\(certificateFile)"])
                } catch {
                    logger.error("the certificate from before stays in use", metadata: ["reason": "\(error)"])
                }
                return state.pair
            }
        }

        private static func read(_ certificateFile: String, _ keyFile: String) throws -> Pair {
            do {
                let chain = try NIOSSLCertificate.fromPEMFile(certificateFile)
                // Read once: a file that is being written may be another one a moment later.
                let text = try String(contentsOfFile: keyFile, encoding: .utf8)
                let key = try NIOSSLPrivateKey(bytes: Array(text.utf8), format: .pem)
                let sources = chain.map { NIOSSLCertificateSource.certificate($0) }
                if let certified = try chain.first?.extractPublicKey().toSPKIBytes(),
                    let held = CertificateKey.publicKey(ofPrivateKey: text), certified != held
                {
                    throw TLSFilesError(certificate: certificateFile, key: keyFile)
                }
                return Pair(chain: sources, key: .privateKey(key))
            } catch {
                throw TLSFilesError(certificate: certificateFile, key: keyFile)
            }
        }
    }
#endif
