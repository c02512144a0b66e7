import CloudKitEncryption
import CloudKitModel

@testable import CloudKit
@testable import CloudKitClient

/// Keys of a share, as stored in the cloud.
struct HeldKeys {
    let share: RecordAddress
    let change: ShareKeyChange
}

/// An attacker who keeps every key that a user ever had on any device, and who sees all data of the cloud.
///
/// A key reset leaves a spy with the old keys.
final class Spy {
    let person: Int
    let access: ShareKeyAccess
    /// Whether the user's keys were replaced.
    private(set) var isFormer = false

    private var recordKeys: [RecordAddress: [RecordCipher]] = [:]
    private var shareKeys: [RecordAddress: [UInt32: ShareKey]] = [:]
    private var zoneKeys: [ZoneAddress: [UInt32: ZoneKey]] = [:]
    private var links: [RecordAddress: [ShareLinkSecret]] = [:]
    /// The opened keyrings, by their positions in the cloud's data.
    private var openedRings: Set<Int> = []

    init(_ secret: AccountSecret, person: Int, user: UserID) {
        self.person = person
        access = ShareKeyAccess(
            root: secret.root(container: SimulatedCloud.container.name, environment: "development"), secret: secret,
            user: user.recordName)
    }

    func retire() { isFormer = true }

    func hasLink(of share: RecordAddress) -> Bool { links[share] != nil }

    // MARK: Keeping

    func keep(_ cipher: RecordCipher) {
        let key = cipher.sealer.key
        let known = recordKeys[key.place] ?? []
        if !known.contains(where: { $0.sealer.key == key }) { recordKeys[key.place] = known + [cipher] }
    }

    func keep(_ link: ShareLinkSecret, of share: RecordAddress) {
        if links[share]?.contains(link) != true { links[share, default: []].append(link) }
    }

    /// Keeps the keys in a device's memory.
    ///
    /// - Parameter epochs: The maximum number of the zone's epochs.
    func keep(_ shared: SharedKeys, epochs: UInt32, _ held: [HeldKeys]) {
        for epoch in 0...epochs {
            if let key = shared.zoneKey(epoch) { zoneKeys[shared.place, default: [:]][epoch] = key }
        }
        for held in held where held.share.zone == shared.place {
            let epoch = UInt32(clamping: held.change.epoch)
            if let key = shared.key(of: held.share.name, epoch: epoch) { keep(key) }
        }
        for (name, link) in shared.links { keep(link, of: RecordAddress(zone: shared.place, name: name)) }
    }

    private func keep(_ key: ShareKey) { shareKeys[key.place, default: [:]][key.epoch] = key }

    /// Opens as many stored keys as possible, for any recipient.
    func open(_ held: [HeldKeys]) {
        var hasNews = true
        while hasNews {
            hasNews = false
            for (position, held) in held.enumerated() where !openedRings.contains(position) {
                guard let key = key(held) else { continue }
                keep(key)
                openedRings.insert(position)
                hasNews = true
                openRing(of: held, with: key)
            }
        }
    }

    private func key(_ held: HeldKeys) -> ShareKey? {
        let (share, change) = (held.share, held.change)
        if let key = shareKeys[share]?[UInt32(clamping: change.epoch)] { return key }
        for link in links[share] ?? [] {
            if let wrap = change.link, let key = try? link.open(wrap, share: share) { return key }
            for wrap in change.wraps where ShareLinkSecret.isLinkWrap(wrap.bytes) {
                let key = try? link.open(wrap.bytes, share: share, participant: wrap.participantID)
                if let key { return key }
            }
        }
        guard let own = try? access.secret.identity() else { return nil }
        let fingerprint = own.publicIdentity.fingerprint.hex
        for wrap in change.wraps where wrap.identity == fingerprint {
            // A spy trusts all signatures.
            var (pins, epochs) = (IdentityPins(), HighestSeenEpochs())
            let invitation = try? SealedShareInvitation(bytes: wrap.bytes, share: share)
            let key = try? invitation?.open(as: wrap.participantID, with: own, pins: &pins, epochs: &epochs)
            if let key { return key }
        }
        return nil
    }

    private func openRing(of held: HeldKeys, with key: ShareKey) {
        guard let ring = held.change.blob.flatMap({ try? ShareKeyring(bytes: $0, share: held.share) }) else { return }
        for earlier in (try? ring.earlierKeys(key)) ?? [] { keep(earlier) }
        for zoneKey in (try? ring.zoneKeys(key)) ?? [] {
            zoneKeys[zoneKey.place, default: [:]][zoneKey.epoch] = zoneKey
        }
        if let link = try? ring.linkSecret(key) { keep(link, of: held.share) }
    }

    // MARK: Reading

    /// Returns the keys of a zone with all kept keys, for the cloud's records.
    func keys(of place: ZoneAddress, for records: [Record]) -> ZoneKeys {
        var shared = SharedKeys(place)
        for keys in shareKeys where keys.key.zone == place { for key in keys.value.values { shared.add(key) } }
        for key in (zoneKeys[place] ?? [:]).values { shared.add(key) }
        var keys = ZoneKeys(access, place: place, epoch: 0, shared: shared)
        keys.isShared = true
        keys.learn(records)
        return keys
    }

    /// Returns the value of a record's encrypted field if a kept key decrypts it.
    func opened(_ record: Record, in zone: ZoneAddress) -> String? {
        guard let field = record.fields.first(where: { $0.name == "secret" }) else { return nil }
        for cipher in recordKeys[RecordAddress(zone: zone, name: record.id.recordName)] ?? [] {
            if let plain = try? cipher.open(field) { return String(decoding: plain.json, as: UTF8.self) }
        }
        return nil
    }
}
