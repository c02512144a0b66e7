import CloudKitEncryption
import CloudKitModel

@testable import CloudKit
@testable import CloudKitClient

/// Keys of a share that the cloud holds, as a host handed them in.
struct HeldKeys {
    let share: RecordPlace
    let change: ShareKeyChange
}

/// Somebody who keeps every key that they ever had, on whatever device, and whom the cloud shows all that it holds.
///
/// Who begins anew with other keys leaves one behind that goes on with the old ones.
final class Spy {
    let person: Int
    let access: ShareKeyAccess
    /// Whether the person has other keys by now.
    private(set) var isFormer = false

    private var recordKeys: [RecordPlace: [RecordCipher]] = [:]
    private var shareKeys: [RecordPlace: [UInt32: ShareKey]] = [:]
    private var zoneKeys: [ZonePlace: [UInt32: ZoneKey]] = [:]
    private var links: [RecordPlace: [ShareLinkSecret]] = [:]
    /// Rings that were opened, by their positions among what the cloud holds.
    private var openedRings: Set<Int> = []

    init(_ secret: AccountSecret, person: Int, user: UserID) {
        self.person = person
        access = ShareKeyAccess(
            root: secret.root(container: SimulatedCloud.container.name, environment: "development"), secret: secret,
            user: user.recordName)
    }

    func retire() { isFormer = true }

    func hasLink(of share: RecordPlace) -> Bool { links[share] != nil }

    // MARK: Keeping

    func keep(_ cipher: RecordCipher) {
        let key = cipher.sealer.key
        let known = recordKeys[key.place] ?? []
        if !known.contains(where: { $0.sealer.key == key }) { recordKeys[key.place] = known + [cipher] }
    }

    func keep(_ link: ShareLinkSecret, of share: RecordPlace) {
        if links[share]?.contains(link) != true { links[share, default: []].append(link) }
    }

    /// Keeps what a device has in memory.
    ///
    /// - Parameter epochs: As many as the zone may have had.
    func keep(_ shared: SharedKeys, epochs: UInt32, _ held: [HeldKeys]) {
        for epoch in 0...epochs {
            if let key = shared.zoneKey(epoch) { zoneKeys[shared.place, default: [:]][epoch] = key }
        }
        for held in held where held.share.zone == shared.place {
            let epoch = UInt32(clamping: held.change.epoch)
            if let key = shared.key(of: held.share.name, epoch: epoch) { keep(key) }
        }
        for (name, link) in shared.links { keep(link, of: RecordPlace(zone: shared.place, name: name)) }
    }

    private func keep(_ key: ShareKey) { shareKeys[key.place, default: [:]][key.epoch] = key }

    /// Opens what it can of the keys that hosts handed in, for whomever they were meant.
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
            // Whoever means to read believes everybody.
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

    /// The keys of a zone with all that was kept, for records as the cloud holds them.
    func keys(of place: ZonePlace, for records: [Record]) -> ZoneKeys {
        var shared = SharedKeys(place)
        for keys in shareKeys where keys.key.zone == place { for key in keys.value.values { shared.add(key) } }
        for key in (zoneKeys[place] ?? [:]).values { shared.add(key) }
        var keys = ZoneKeys(access, place: place, epoch: 0, shared: shared)
        keys.isShared = true
        keys.learn(records)
        return keys
    }

    /// What a record's encrypted field holds, if a key of that record opens it that was kept.
    func opened(_ record: Record, in zone: ZonePlace) -> String? {
        guard let field = record.fields.first(where: { $0.name == "secret" }) else { return nil }
        for cipher in recordKeys[RecordPlace(zone: zone, name: record.id.recordName)] ?? [] {
            if let plain = try? cipher.open(field) { return String(decoding: plain.json, as: UTF8.self) }
        }
        return nil
    }
}
