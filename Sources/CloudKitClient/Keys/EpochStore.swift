import CloudKitDevice
import CloudKitEncryption
import Foundation
import Synchronization

/// Which key epochs this device has seen: in memory, and in a file of the profile, so that a cloud that goes back in time is
/// found out after a restart, too.
package final class EpochStore: Sendable {
    private let file: String?
    private let pins = Mutex<HighestSeenEpochs?>(nil)

    /// - Parameter folder: The profile's; nil: nothing is written.
    package init(folder: String? = nil) { file = folder.map { $0 + "/" + DeviceProfile.keyEpochsFile } }

    /// The epoch under which to seal: the highest seen of the zone, 0 at first.
    ///
    /// - Throws: `CallFailure.accountUnusable` when the file cannot be read.
    package func epoch(of zone: ZoneAddress) throws(CallFailure) -> UInt32 { try known.epoch(of: zone) ?? 0 }

    /// The epochs that this device has seen so far; nil when the file cannot be read. The answer to a request that is sent now shows none
    /// below.
    package var seen: HighestSeenEpochs? { try? known }

    /// Remembers an epoch that the cloud says a zone has now.
    ///
    /// - Parameter before: What this device had seen when the request was sent. An epoch below one that came since belongs to an answer
    ///   that another one has overtaken, and is passed over.
    /// - Throws: `CallFailure.tampered` when it is lower than one seen before.
    func see(_ epoch: UInt32, of zone: ZoneAddress, since before: HighestSeenEpochs? = nil) throws(CallFailure) {
        // Most zones never leave the first epoch; they need no line in the file.
        if try known.epoch(of: zone) ?? 0 == epoch { return }
        let failure = pins.withLock { pins -> EncryptionError? in
            do throws(EncryptionError) {
                var changed = pins ?? HighestSeenEpochs()
                try changed.see(epoch, of: zone)
                pins = changed
                return nil
            } catch {
                return error
            }
        }
        if let failure {
            if let before, before.epoch(of: zone) ?? 0 <= epoch { return }
            throw .tampered(failure.description)
        }
        write(epoch, zone)
    }

    /// Stores an epoch that another device of the account has seen; unlike a zone's epoch, it may be lower than earlier ones.
    ///
    /// One of a state of the cloud that is lost does not count: the other device may not know yet that its user has accepted that.
    func met(_ epoch: UInt32, in zone: ZoneAddress) throws(CallFailure) {
        let known = try known
        if epoch > max(known.epoch(of: zone) ?? 0, known.lostEpoch(of: zone)) { try see(epoch, of: zone) }
    }

    /// Reads the file again: the user has accepted an earlier state of the cloud.
    func reread() {
        if file != nil { pins.withLock { $0 = nil } }
    }

    /// Looks at the epochs seen and perhaps adds to them, for all processes of the profile.
    package func change<Value>(_ body: (inout HighestSeenEpochs) throws -> Value) throws -> Value {
        guard let file else {
            var changed = try known
            let value = try body(&changed)
            pins.withLock { $0 = changed }
            return value
        }
        return try PrivateFile.change(file, from: HighestSeenEpochs(), body)
    }

    private var known: HighestSeenEpochs {
        get throws(CallFailure) {
            if let known = pins.withLock({ $0 }) { return known }
            let read = try readFile()
            return pins.withLock { pins in
                let known = pins ?? read
                pins = known
                return known
            }
        }
    }

    private func readFile() throws(CallFailure) -> HighestSeenEpochs {
        guard let file else { return HighestSeenEpochs() }
        do {
            return try PrivateFile.read(file, or: HighestSeenEpochs())
        } catch {
            throw .accountUnusable("The file of key epochs cannot be read (\(file)); it is damaged or not yours")
        }
    }

    /// A pin that cannot be written, for example on a full disk, still holds while this process runs.
    private func write(_ epoch: UInt32, _ zone: ZoneAddress) {
        guard let file else { return }
        // Other processes may have seen other zones.
        _ = try? PrivateFile.change(file, from: HighestSeenEpochs()) { try $0.see(epoch, of: zone) }
    }
}
