import CloudKitDevice
import CloudKitEncryption
import CloudKitModel
import CloudKitWire
import Foundation
import IdentityDirectory
import Synchronization

/// Follows the directory of a cloud: each of its heads has to continue the history of the one before.
final class DirectoryFollower: Sendable {
    private struct State {
        /// When an identity was last found to be missing or wrong, with the failure; so that it is not asked for all the time.
        var refused: [String: (time: Duration, failure: CallFailure)] = [:]
        var checkedReferences: Set<DirectoryHeadReference> = []
        var ownEntryCheck: (account: String, time: Duration)?
    }

    private let memory: PinFile<DirectoryMemory>
    private let endpoint: String
    private let state = Mutex(State())

    /// - Parameter folder: The profile's; nil: nothing is written.
    init(folder: String?, endpoint: String) {
        memory = PinFile(folder: folder, name: DeviceProfile.directoryFile, empty: DirectoryMemory())
        self.endpoint = endpoint
    }

    /// The newest head that this device has verified; nil: none.
    var head: DirectoryHead? {
        get throws(CallFailure) {
            guard let known = try memory.known.clouds[endpoint] else { return nil }
            do {
                return try Self.head(known)
            } catch {
                throw .accountUnusable("The profile's file directory.json is damaged; remove it to begin again")
            }
        }
    }

    private static func head(_ known: DirectoryMemory.Known) throws -> DirectoryHead? {
        known.head.isEmpty ? nil : try DirectoryHead(bytes: Array(known.head))
    }

    /// Another process has verified a newer head meanwhile: the question has to be asked again.
    struct HeadMoved: Error {}

    /// Verifies an answer and remembers its head.
    ///
    /// - Parameters:
    ///   - labels: The addresses and users that were asked for, in their order.
    ///   - seen: The newest head when the question was asked.
    /// - Returns: The entries, nil where there is none.
    /// - Throws: `DirectoryError`; `HeadMoved`.
    func take(
        _ answer: DirectoryLookupAnswer, for labels: [DirectoryLabel], seen: DirectoryHead?
    ) throws -> [DirectoryProof.OpenedEntry?] {
        let keys = try DirectoryKeys(bytes: answer.keys)
        let head = try DirectoryHead(bytes: answer.head)
        try head.verify(keys)
        guard answer.proofs.count == labels.count else { throw DirectoryError.malformed("answer") }
        let entries = try zip(labels, answer.proofs).map { label, proof in
            try DirectoryProof(bytes: proof).verify(label, root: head.root, functionKey: keys.function)
        }
        try memory.change { memory in
            if let known = memory.clouds[endpoint] {
                guard Array(known.keys) == answer.keys else { throw DirectoryError.keysReplaced }
                let held = try Self.head(known)
                guard held == seen else { throw HeadMoved() }
                if let held { try Self.verifyHistory(from: held.reference, in: answer, to: head, keys) }
            }
            var known = memory.clouds[endpoint] ?? .init(keys: Data(answer.keys))
            known.head = Data(answer.head)
            memory.clouds[endpoint] = known
        }
        return entries
    }

    /// Verifies that the head of an answer continues the history of another one.
    ///
    /// - Throws: `DirectoryError`.
    static func verifyHistory(
        from reference: DirectoryHeadReference, in answer: DirectoryLookupAnswer, to head: DirectoryHead,
        _ keys: DirectoryKeys
    ) throws(DirectoryError) {
        guard reference.number <= head.number else {
            throw .wentBack(newest: head.number, seen: reference.number)
        }
        let forked = DirectoryError.forked(one: reference.number, other: head.number)
        if reference.number == head.number {
            guard head.reference == reference else { throw forked }
            return
        }
        for candidate in answer.heads {
            let earlier = try DirectoryHead(bytes: candidate.head)
            guard earlier.number == reference.number else { continue }
            guard earlier.reference == reference else { throw forked }
            try earlier.verify(keys)
            return try HistoryProof(bytes: candidate.proof).verify(from: earlier, to: head)
        }
        // A cloud that does not prove a history has another one.
        throw forked
    }

    // MARK: Identities that were refused

    private static let refusalLifetime = Duration.seconds(30)

    /// Returns the failure of an identity that was found to be missing or wrong a short while ago.
    func refusal(of user: String, _ identity: Fingerprint, now: Duration) -> CallFailure? {
        state.withLock { state in
            guard let refused = state.refused[user + " " + identity.hex],
                now - refused.time < Self.refusalLifetime
            else { return nil }
            return refused.failure
        }
    }

    func note(_ failure: CallFailure, of user: String, _ identity: Fingerprint, now: Duration) {
        state.withLock { state in
            if state.refused.count > 1000 { state.refused = [:] }
            state.refused[user + " " + identity.hex] = (now, failure)
        }
    }

    // MARK: Heads that others have seen

    func isChecked(_ reference: DirectoryHeadReference) -> Bool {
        state.withLock { $0.checkedReferences.contains(reference) }
    }

    func noteChecked(_ reference: DirectoryHeadReference) {
        state.withLock { state in
            if state.checkedReferences.count > 1000 { state.checkedReferences = [] }
            state.checkedReferences.insert(reference)
        }
    }

    // MARK: The account's own entry

    private static let ownEntryInterval = Duration.seconds(3600)

    /// Returns whether the account's own entry was not looked at for an hour, or not since another account or device signed in, and counts
    /// as looked at from now on.
    func beginsOwnEntryCheck(of account: String, now: Duration) -> Bool {
        state.withLock { state in
            if let check = state.ownEntryCheck, check.account == account, now - check.time < Self.ownEntryInterval {
                return false
            }
            state.ownEntryCheck = (account, now)
            return true
        }
    }

    /// Makes the next call look at the account's own entry again.
    func forgetOwnEntryCheck() { state.withLock { $0.ownEntryCheck = nil } }

    /// Compares the devices of the account's entry with those listed before, and remembers new ones.
    func note(devices: DirectoryDevices, of account: String) throws {
        let listed = devices.list.map { Fingerprint.hexadecimal($0.id.bytes) }
        try memory.change { memory in
            guard var known = memory.clouds[endpoint] else { return }
            if let before = known.devices[account] {
                let added = listed.filter { !before.contains($0) }
                let kept = (known.newDevices[account] ?? []).filter(listed.contains)
                known.newDevices[account] = kept + added.filter { !kept.contains($0) }
            }
            known.devices[account] = listed
            memory.clouds[endpoint] = known
        }
    }

    /// The hashes of devices that signed in to the account since its list was first seen on this device.
    func newDevices(of account: String) throws(CallFailure) -> [String] {
        try memory.known.clouds[endpoint]?.newDevices[account] ?? []
    }

    /// Forgets the new devices, once the user has been shown them.
    func confirmDevices(of account: String) throws {
        try memory.change { $0.clouds[endpoint]?.newDevices[account] = nil }
    }
}

extension Fingerprint {
    fileprivate static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }
}
