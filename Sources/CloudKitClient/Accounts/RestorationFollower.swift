import CloudKitDevice
import Foundation
import Synchronization

/// Follows what a cloud says about its store: every answer names the epoch, and another one than before is the claim that the cloud was
/// restored from a backup (B-BKD-13).
///
/// The claim proves nothing. So it changes how an older version of a record is reported, and what the user can do about it, and never
/// lets one through unnoticed (B-TM-15).
package final class RestorationFollower: Sendable {
    /// The part of the claims that versions of records are compared with.
    struct Claimed: Hashable, Sendable {
        /// The time of the state to which the cloud went back last; 0 if it is not known.
        var restoredTo: Int64 = 0
        /// Versions up to this one may be lost: the time of the last claim, in milliseconds since 1970; 0: there is no claim.
        var lostUntil: UInt64 = 0
        /// Versions up to this one may be lost, and the user has accepted that.
        var acceptedUntil: UInt64 = 0
        /// The number after a version up to this one may be that of a lost version: the next one is numbered by the time.
        var renumberedUntil: UInt64 = 0

        /// Whether there is a claim that the user has not accepted.
        var isOpen: Bool { acceptedUntil < lostUntil }

        init() {}

        init(_ cloud: CloudRestorations.Cloud) {
            self.init(cloud.claims)
            renumberedUntil = max(renumberedUntil, UInt64(clamping: cloud.firstRestoredTo))
        }

        init(_ claims: [CloudRestorations.Claim]) {
            restoredTo = claims.last?.restoredTo ?? 0
            lostUntil = claims.map(\.versionMax).max() ?? 0
            renumberedUntil = lostUntil
            acceptedUntil = claims.filter { $0.accepted != nil }.map(\.versionMax).max() ?? 0
        }
    }

    private struct State {
        /// The header of the last answer.
        var header: String?
        /// What that header says of the cloud, as long as the profile cannot be written; nil: it is in the file.
        var unwritten: CloudRestorations.Cloud?
        /// Whether there is a claim, or an earlier restoration is known; nil: the file was not read yet.
        var isRestored: Bool?
    }

    private let folder: String?
    private let endpoint: String
    private let file: PinFile<CloudRestorations>
    private let state = Mutex(State())

    /// Creates a follower.
    ///
    /// - Parameters:
    ///   - folder: The profile's; nil: nothing is written.
    ///   - endpoint: The address of the cloud.
    package init(folder: String?, endpoint: String) {
        self.folder = folder.map { $0 + "/" + DeviceProfile.recordVersionsFolder }
        self.endpoint = endpoint
        file = PinFile(folder: self.folder, name: DeviceProfile.restorationsFile, empty: CloudRestorations())
    }

    /// The name of the header, in lower case.
    static let header = "x-welkin-store-epoch"

    /// Takes the header of an answer: the epoch, and after a semicolon the time of the state with which it began.
    func note(_ header: String, now: Int64) {
        guard state.withLock({ $0.header != header || $0.unwritten != nil }) else { return }
        let (epoch, restoredTo) = Self.parts(of: header)
        guard !epoch.isEmpty, header.utf8.count <= Self.headerBytesMax else { return }
        let note: (inout CloudRestorations) -> CloudRestorations.Cloud? = { [endpoint] restorations in
            restorations.note(epoch: epoch, restoredTo: restoredTo, of: endpoint, now: now)
            return restorations.clouds[endpoint]
        }
        if let known = (try? change(note)) ?? nil {
            return state.withLock { $0 = State(header: header, isRestored: Claimed(known) != Claimed()) }
        }
        // A profile that cannot be written now, as on a full disk, is written at a later answer.
        guard var known = try? file.known, let cloud = note(&known) else { return }
        state.withLock { state in
            guard state.header != header else { return }
            state = State(header: header, unwritten: cloud, isRestored: Claimed(cloud) != Claimed())
        }
    }

    private static let headerBytesMax = 128

    /// The epoch of the cloud's store and the time of the state with which it began, as the last answer named them, also one to an earlier process.
    var storeEpoch: (name: String, restoredTo: Int64)? {
        guard let header = state.withLock(\.header) else {
            return known.map { ($0.epoch, $0.claims.last?.restoredTo ?? $0.firstRestoredTo) }
        }
        let (name, restoredTo) = Self.parts(of: header)
        return (name, restoredTo)
    }

    private static func parts(of header: String) -> (epoch: String, restoredTo: Int64) {
        let parts = header.split(separator: ";", maxSplits: 1)
        return (parts.first.map { String($0) } ?? "", parts.count > 1 ? Int64(parts[1]) ?? 0 : 0)
    }

    /// The claims as they are now: the user may have accepted them in another process.
    var claimed: Claimed {
        if state.withLock(\.isRestored) == false { return Claimed() }
        let claimed = known.map { Claimed($0) } ?? Claimed()
        state.withLock { $0.isRestored = $0.isRestored ?? (claimed != Claimed()) }
        return claimed
    }

    /// All that is known of the cloud.
    package var known: CloudRestorations.Cloud? {
        if let unwritten = state.withLock(\.unwritten) { return unwritten }
        return try? file.known.clouds[endpoint]
    }

    /// Remembers records for the user.
    func note(older: [String], returned: [String]) {
        if older.isEmpty, returned.isEmpty { return }
        try? change { $0.note(older: older, returned: returned, of: endpoint) }
    }

    /// Returns the failure of something that the cloud shows in an earlier state than this device has seen: while the user has not accepted a claim of
    /// the cloud, it tells of the claim, and lists the thing for the user. Once the user has accepted one, another device of the account that has not may
    /// be the reason.
    ///
    /// - Parameters:
    ///   - failure: Where there is no such claim.
    ///   - item: The name of the thing in a sentence.
    ///   - name: In the list.
    func failure(_ failure: CallFailure, of item: String, listedAs name: String) -> CallFailure {
        let claimed = claimed
        guard claimed.isOpen else {
            guard claimed.acceptedUntil > 0, case .tampered(let reason) = failure else { return failure }
            return .tampered(
                "\(reason). The earlier state of this cloud, which says that it was restored, is accepted on this device: accept it on the "
                    + "account's other devices, too (welkin restorations accept)")
        }
        note(older: [name], returned: [])
        return .earlierState(item)
    }

    private func change<Value>(_ body: (inout CloudRestorations) throws -> Value) throws -> Value {
        if let folder { try PrivateFile.makeFolder(folder) }
        return try file.change(body)
    }
}

extension CloudRestorations.Claim {
    /// The highest number of a version that the cloud may have lost: devices number versions by their clocks, of which none is quite right, this
    /// one's included.
    fileprivate var versionMax: UInt64 { UInt64(clamping: noticed + 10 * 60_000) }
}
