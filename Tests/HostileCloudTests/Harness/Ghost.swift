import CloudKitClient
import CloudKitEncryption
import Foundation

@testable import CloudKitEncryption

/// A stranger in league with the cloud: has an account of its own, and everything that ever passed over the wire.
struct Ghost: Sendable {
    let secret: AccountSecret
    let userName: String
    /// Secrets of links that it knows.
    var links: [ShareLinkSecret] = []

    var identity: AccountIdentity { get throws { try secret.identity() } }
    /// The public identity, in base64 as participants carry it.
    var publicIdentity: JSON { get throws { JSON(base64: try identity.publicIdentity.bytes) } }

    /// Returns a participant of a share with the ghost's identity, as the cloud would describe one.
    func participant(
        id: String = "ghost", type: String = "USER", permission: String = "READ_WRITE", status: String = "ACCEPTED"
    ) throws -> JSON {
        [
            "participantId": .string(id), "type": .string(type), "permission": .string(permission),
            "acceptanceStatus": .string(status),
            "userIdentity": [
                "userRecordName": .string(userName), "nameComponents": ["givenName": "Ghost"],
                "lookupInfo": ["emailAddress": "ghost@example.com"], "hasiCloudAccount": true,
                "publicIdentity": try publicIdentity,
            ],
        ]
    }

    /// Tries to open everything in the traffic with all of its keys, and with those that it finds on the way.
    ///
    /// - Parameter keys: Keys of shares that the ghost made itself.
    /// - Returns: The plain values that open, and a line for each key of another person.
    func loot(_ traffic: [Exchange], in zones: [ZoneAddress], with keys: [ShareKey] = []) throws -> Set<String> {
        var search = LootSearch(self, traffic, zones, keys)
        return try search.run()
    }
}

/// The search for anything that opens; it knows every format, and tries each key on everything.
private struct LootSearch {
    private let ghost: Ghost
    private let zones: [ZoneAddress]
    private var blobs: Set<[UInt8]> = []
    private var shareNames: Set<String> = [Self.wholeZone]
    private var slots: Set<String> = [""]
    private var records: Set<JSON> = []
    private var found: Set<String> = []
    private var shareKeys: [ShareKey] = []
    private var zoneKeys: [ZoneKey] = []
    private var links: [ShareLinkSecret]
    /// A key that the ghost made may be passed off as that of any epoch.
    private let made: [ShareKey]

    private static let wholeZone = "cloudkit.zoneshare"
    /// More epochs than any attack begins.
    private static let epochs: ClosedRange<UInt32> = 0...9

    init(_ ghost: Ghost, _ traffic: [Exchange], _ zones: [ZoneAddress], _ keys: [ShareKey]) {
        made = keys
        self.ghost = ghost
        self.zones = zones
        links = ghost.links
        var seen: Set<[UInt8]> = []
        for exchange in traffic {
            for body in [exchange.sent, exchange.body] where seen.insert(body).inserted {
                guard let document = JSON(body) else { continue }
                take(document)
            }
        }
    }

    private mutating func take(_ document: JSON) {
        document.visit { value in
            if let bytes = value.base64, bytes.count >= 60 { blobs.insert(bytes) }
            if let slot = value["participantId"]?.text { slots.insert(slot) }
            guard let name = value.recordName else { return }
            if value["recordType"]?.text == "cloudkit.share" || value["shareKeys"] != nil { shareNames.insert(name) }
            if value["fields"] != nil, value["protection"] != nil { records.insert(value) }
        }
    }

    mutating func run() throws -> Set<String> {
        try openInvitations()
        var count = -1
        while count != shareKeys.count + zoneKeys.count + links.count {
            count = shareKeys.count + zoneKeys.count + links.count
            openLinks()
            openRings()
        }
        for key in shareKeys { found.insert("key of share \(key.place.name), epoch \(key.epoch)") }
        for key in zoneKeys { found.insert("key of zone \(key.place.zone), epoch \(key.epoch)") }
        for zone in zones { try openRecords(in: zone) }
        return found
    }

    private var shares: [RecordAddress] {
        zones.flatMap { zone in shareNames.map { RecordAddress(zone: zone, name: $0) } }
    }

    private mutating func add(_ key: ShareKey) { if !shareKeys.contains(key) { shareKeys.append(key) } }
    private mutating func add(_ key: ZoneKey) {
        if !zoneKeys.contains(where: { $0.place == key.place && $0.epoch == key.epoch }) { zoneKeys.append(key) }
    }

    private mutating func openInvitations() throws {
        let identity = try ghost.identity
        for blob in blobs where blob.first == 1 && blob.count > 300 {
            for share in shares {
                guard let invitation = try? SealedShareInvitation(bytes: blob, share: share) else { break }
                for slot in slots {
                    var pins = IdentityPins()
                    var epochs = HighestSeenEpochs()
                    if let key = try? invitation.open(as: slot, with: identity, pins: &pins, epochs: &epochs) {
                        add(key)
                    }
                }
            }
        }
    }

    private mutating func openLinks() {
        for link in links {
            for blob in blobs where ShareLinkSecret.isLinkWrap(blob) && blob.count == 65 {
                for share in shares {
                    for slot in slots {
                        let slot = slot.isEmpty ? nil : slot
                        if let key = try? link.open(blob, share: share, participant: slot) { add(key) }
                    }
                }
            }
        }
    }

    private mutating func openRings() {
        for key in shareKeys {
            for blob in blobs where blob.first == 1 {
                guard let ring = try? ShareKeyring(bytes: blob, share: key.place), ring.epoch == key.epoch else {
                    continue
                }
                for earlier in (try? ring.earlierKeys(key)) ?? [] { add(earlier) }
                for zoneKey in (try? ring.zoneKeys(key)) ?? [] { add(zoneKey) }
                if let link = try? ring.linkSecret(key), !links.contains(link) { links.append(link) }
            }
        }
    }

    /// Finds keys of records until there are no new ones, by every way that a protection has.
    ///
    /// The ghost's own keys are tried as well, as if the zone and its shares were the ghost's.
    private mutating func openRecords(in zone: ZoneAddress) throws {
        let root = ghost.secret.root(container: zone.container, environment: zone.environment)
        let identity = try ghost.identity
        let zoneKeys =
            zoneKeys.filter { $0.place == zone }
            + Self.epochs.map { root.zoneKey(owner: zone.owner, zone: zone.zone, epoch: $0) }
        let shares = shareNames.map { RecordAddress(zone: zone, name: $0) }
        let shareKeys =
            shareKeys.filter { $0.place.zone == zone }
            + Self.epochs.flatMap { epoch in
                shares.map { root.shareKey(of: $0, epoch: epoch) }
                    + made.map { ShareKey(place: $0.place, epoch: epoch, material: $0.material) }
            }
        var keys: [String: [RecordKey]] = [:]
        var isComplete = false
        while !isComplete {
            isComplete = true
            for record in records {
                guard let name = record.recordName, let epoch = record["protection", "epoch"]?.int,
                    let protection = try? RecordProtection(
                        epoch: UInt32(clamping: epoch), keys: record["protection", "keys"]?.base64 ?? [])
                else { continue }
                let place = RecordAddress(zone: zone, name: name)
                var candidates = keys[name] ?? []
                candidates += zoneKeys.compactMap { try? protection.key(of: name, zoneKey: $0) }
                candidates += zoneKeys.map { $0.recordKey(name) }
                candidates += shareKeys.compactMap { try? protection.key(of: name, share: $0) }
                candidates += keys.values.joined().compactMap { try? protection.key(of: name, parent: $0) }
                if let key = try? protection.key(of: place, owner: identity) { candidates.append(key) }
                for present in candidates where present.epoch == protection.epoch {
                    candidates += Self.epochs.compactMap { try? protection.earlierKey($0, key: present) }
                }
                for key in candidates where open(record, key) && keys[name]?.contains(key) != true {
                    keys[name, default: []].append(key)
                    isComplete = false
                }
            }
        }
    }

    /// - Returns: Whether the key opens anything of the record.
    private mutating func open(_ record: JSON, _ key: RecordKey) -> Bool {
        var opens = false
        let sealer = RecordSealer(key, recordType: record["recordType"]?.text ?? "")
        for field in record["fields"]?.pairs ?? [] {
            let types = [field.value["type"]?.text, "ENCRYPTED_STRING", "ENCRYPTED_BYTES", "ENCRYPTED_INT64"]
            if let sealed = field.value["value"]?.base64 {
                for type in types.compactMap(\.self) {
                    if let plain = try? sealer.open(sealed, field: field.key, type: type) {
                        found.insert(String(decoding: plain, as: UTF8.self))
                        opens = true
                    }
                }
            }
            if let sealed = field.value["value"]?["wrappingKey"]?.base64,
                (try? sealer.openAsset(sealed, field: field.key)) != nil
            {
                found.insert("key of the file \(field.key) of \(record.recordName ?? "")")
                opens = true
            }
        }
        return opens
    }
}
