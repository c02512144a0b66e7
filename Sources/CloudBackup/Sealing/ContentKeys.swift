import Crypto
import Foundation
import Synchronization

/// The keys of contents in a backup that is sealed to a recipient.
///
/// Each moment draws a key, seals it to the recipient, puts it in front of each chunk and forgets it. So the machine that backs up cannot open what it stored.
final class ContentKeys: Sendable {
    private struct State {
        /// The key of the moment that is being taken, and its sealed form.
        var current: (key: SymmetricKey, sealed: [UInt8])?
        /// Keys that were opened, by their sealed forms.
        var opened: [[UInt8]: SymmetricKey] = [:]
    }

    private let recipient: BackupRecipient
    /// nil on a machine that backs up.
    private let privateKey: BackupPrivateKey?
    private let state = Mutex(State())

    private static let info = Data("welkin backup 2 contents".utf8)
    private static let openedMax = 4096

    init(_ recipient: BackupRecipient, _ privateKey: BackupPrivateKey?) {
        self.recipient = recipient
        self.privateKey = privateKey
    }

    var canOpen: Bool { privateKey != nil }

    /// Forgets the key of the moment that was taken.
    func forget() { state.withLock { $0.current = nil } }

    func seal(_ bytes: [UInt8], _ context: [UInt8]) throws -> [UInt8] {
        let (key, sealed) = try current()
        return sealed + (try BackupKey.seal(bytes, key, context))
    }

    private func current() throws -> (key: SymmetricKey, sealed: [UInt8]) {
        if let current = state.withLock({ $0.current }) { return current }
        let key = SymmetricKey(size: .bits256)
        let fresh = (key: key, sealed: try SealedKey.seal(key, to: recipient, info: Self.info))
        return state.withLock { state in
            if let current = state.current { return current }
            state.current = fresh
            return fresh
        }
    }

    /// nil: it was not sealed to this key, or under another name.
    func open(_ stored: [UInt8], _ context: [UInt8]) -> [UInt8]? {
        guard let privateKey, stored.count > SealedKey.byteCount else { return nil }
        let sealed = Array(stored.prefix(SealedKey.byteCount))
        let key: SymmetricKey
        if let known = state.withLock({ $0.opened[sealed] }) {
            key = known
        } else {
            guard let opened = SealedKey.open(sealed, with: privateKey, info: Self.info) else { return nil }
            key = opened
            state.withLock { state in
                if state.opened.count >= Self.openedMax { state.opened = [:] }
                state.opened[sealed] = opened
            }
        }
        return BackupKey.open(Array(stored.dropFirst(SealedKey.byteCount)), key, context)
    }
}
