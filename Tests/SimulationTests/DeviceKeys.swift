import CloudKitEncryption
import CloudKitModel

@testable import CloudKit
@testable import CloudKitClient

/// The stored key information of a device, which survives its processes.
final class DeviceFiles {
    var pins = IdentityPins()
    var epochs = HighestSeenEpochs()
    /// The versions of records, and the states of the user's own zones.
    let versions = RecordVersions(folder: nil)
    let memories = ZoneMemories(folder: nil)
    /// The secrets of used links.
    var links: [RecordAddress: ShareLinkSecret] = [:]
    /// The replaced identities; data signed with them waits for its successor.
    var formerIdentities: Set<Fingerprint> = []
}

/// The keys of a device, managed by the framework's code.
struct DeviceKeys {
    let files: DeviceFiles
    /// The spy that keeps these keys.
    let spy: Spy
    /// The keys received through shares by zone, in memory only.
    private var shared: [ZoneAddress: SharedKeys] = [:]
    /// The versions of opened share records.
    private var opened: [RecordAddress: ChangeTag] = [:]

    init(_ spy: Spy, files: DeviceFiles = DeviceFiles()) {
        self.files = files
        self.spy = spy
    }

    var access: ShareKeyAccess { spy.access }

    /// Returns the keys received through shares of a zone.
    func memory(of zone: ZoneAddress) -> SharedKeys? { shared[zone] }

    /// Ends the process, which clears the memory.
    mutating func forgetMemory() {
        shared = [:]
        opened = [:]
    }

    /// Returns the keys of a zone, including those from its cached records.
    ///
    /// - Throws: `CallFailure` for data that appears to be tampered with.
    mutating func zone(_ place: ZoneAddress, _ cache: ZoneCache?) throws -> ZoneKeys {
        let known = shared[place] ?? SharedKeys(place)
        var keys = ZoneKeys(access, place: place, epoch: files.epochs.epoch(of: place) ?? 0, shared: known)
        let records = (cache?.records ?? [:]).values.sorted { $0.id.recordName < $1.id.recordName }
        if records.contains(where: { $0.sharing != nil }) { keys.isShared = true }
        for record in records where record.sharing != nil {
            let share = RecordAddress(zone: place, name: record.id.recordName)
            if opened[share] == record.changeTag { continue }
            guard try open(record, with: &keys) else { continue }
            opened[share] = record.changeTag
        }
        keys.learn(records.filter { $0.sharing == nil })
        return keys
    }

    /// - Returns: false if its newest key is from a user whose keys were replaced; the owner's next device sends another.
    private func open(_ record: Record, with keys: inout ZoneKeys) throws -> Bool {
        let share = RecordAddress(zone: keys.place, name: record.id.recordName)
        let link = keys.isOwn ? nil : files.links[share] ?? keys.shared.links[share.name]
        let owner = IdentityPins.name(of: share.zone.owner, in: share.zone)
        // As the framework, which believes in an owner whom the cloud's directory shows, also where a link opens the first key.
        if !keys.isOwn, let bytes = record.sharing?.owner?.identity.publicIdentity,
            let identity = try? PublicIdentity(bytes: bytes)
        {
            _ = try? files.pins.check(identity, of: owner)
        }
        var isOutdated = false
        do throws(CallFailure) {
            try keys.shared.open(
                record, as: access, link: link, isOwner: { files.pins.fingerprint(of: owner) == $0.fingerprint },
                trust: { invitation, slot throws(CallFailure) in
                    do throws(EncryptionError) {
                        return try invitation.open(
                            as: slot, with: access.secret.identity(), pins: &files.pins, epochs: &files.epochs)
                    } catch {
                        if case .identityReplaced(_, _, let offered) = error {
                            isOutdated = files.formerIdentities.contains(offered)
                        }
                        throw .tampered(error.description)
                    }
                })
        } catch {
            guard isOutdated else { throw error }
        }
        return !isOutdated
    }

    /// Returns the secret of the link of the account's own share.
    ///
    /// - Parameters:
    ///   - root: The root of the tree; nil for a share of the whole zone.
    ///   - slot: The participant of the one-time link; nil for the public link.
    func linkFragment(of share: String, root: String?, slot: String? = nil, in zone: ZoneAddress) -> String {
        let share = RecordAddress(zone: zone, name: share)
        let secret =
            slot.map { access.root.linkSecret(of: share, participant: $0) }
            ?? access.root.linkSecret(of: share, root: root)
        return secret.fragment
    }

    func keep(_ fragment: String?, of share: String, in zone: ZoneAddress) {
        guard let secret = fragment.flatMap({ try? ShareLinkSecret(fragment: $0) }) else { return }
        files.links[RecordAddress(zone: zone, name: share)] = secret
    }

    mutating func keep(_ keys: ZoneKeys) { shared[keys.place] = keys.shared }

    /// Returns the newest key of the account's own share if an administrator began its epoch.
    func administratorsKey(of share: RecordAddress, _ sharing: Share) -> ShareKey? {
        guard let newest = sharing.keys?.epochs.first, let wrap = newest.wrap, let slot = sharing.currentParticipantID,
            let invitation = try? SealedShareInvitation(bytes: wrap, share: share),
            let own = try? access.secret.identity()
        else { return nil }
        var (pins, epochs) = (files.pins, files.epochs)
        pins.replace(with: own.publicIdentity, of: IdentityPins.name(of: access.user, in: share.zone))
        let key = try? invitation.open(as: slot, with: own, pins: &pins, epochs: &epochs)
        (files.pins, files.epochs) = (pins, epochs)
        return key
    }

    /// Creates keys of a share.
    func making(_ key: ShareKey, _ keys: ZoneKeys) -> ShareKeyMaker {
        let files = files
        return ShareKeyMaker(
            access: access, key: key,
            isKnown: { identity, user in
                (try? files.pins.check(identity, of: IdentityPins.name(of: user.recordName, in: key.place.zone))) != nil
            },
            authority: keys.shared.authorities[key.place.name])
    }
}

/// The account of a user on its devices.
struct AccountKeys {
    var secret: AccountSecret
    var identity: [UInt8]

    init(seed: UInt64) throws {
        var bytes = Array(repeating: UInt8(0), count: 24)
        for shift in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: seed >> UInt64(8 * shift))) }
        secret = try AccountSecret(bytes: bytes)
        identity = try secret.identity().publicIdentity.bytes
    }
}
