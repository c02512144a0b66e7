import CloudKitEncryption
import Foundation
import Testing

@testable import CloudKit

/// Links to shares and their secrets.
@Suite(.timeLimit(.minutes(20))) struct LinkAttackTests {
    @Test(arguments: Attack.of(.links))
    func `B-TM-07 a cloud that exchanges what links lead to`(_ attack: Attack) async throws {
        try await Stage.check(attack) { stage in try await stage.playLinks() }
    }
}

extension Stage {
    fileprivate func playLinks() async throws {
        try await makeFolder()
        let ada = try await device("ada")
        _ = try await device("ben")
        switch attack {
        case .linkKeptOpen: try await playLinkKeptOpen(ada)
        case .linkWrapOfOtherSlot: try await playSlots(ada)
        case .linkWrapOlder: try await playOlderWrap(ada)
        default: try await playOtherShare(ada)
        }
    }

    /// The owner closes a link; another device of hers is shown it open.
    private func playLinkKeptOpen(_ ada: Device) async throws {
        let share = try await share(open: .readWrite)
        let (ben, laptop) = (try await device("ben"), try await device("ada", "laptop"))
        try await accept(share.url, on: ben)
        try await feed(ben.shared, in: try await theirs())
        try await feed(laptop.own)
        let name = share.recordID.recordName
        let open = try #require(try await ada.own.record(for: share.recordID) as? CKShare)
        open.publicPermission = .none
        for participant in open.participants where participant.role != .owner { open.removeParticipant(participant) }
        _ = try await ada.own.save(open)
        // What is sealed before a device knows the zone's epoch is refused by an honest cloud, and kept by this one.
        _ = try await laptop.own.recordZone(for: Self.zone)
        try await lie { exchange in
            guard exchange.device == laptop.name else { return }
            exchange.change { $0.mutateRecord(name) { $0["publicPermission"] = "READ_WRITE" } }
        } during: {
            _ = try await laptop.own.record(for: share.recordID)
            try await write("secret text after the end", to: "One", laptop.own)
        }
        try await write("secret text after the lie", to: "Two", laptop.own)
        let secret = try #require(try share.url?.fragment.map { try ShareLinkSecret(fragment: $0) })
        try await check(ben, opensNothingWith: "after the", links: [secret])
    }

    /// A user opens one of two one-time links, and the cloud shows the wrap of the other one.
    private func playSlots(_ ada: Device) async throws {
        let share = try await share(slots: 2)
        let slots = share.participants.filter { $0.role != .owner }.map(\.participantID)
        let url = try #require(share.oneTimeURL(for: slots[0]))
        let cat = try await device("cat")
        try await accept(share.oneTimeURL(for: slots[1]), on: cat)
        _ = try await cat.shared.record(for: Self.id(share.recordID.recordName, try await theirs()))
        let cats = try #require(liar.versions(of: share.recordID.recordName, in: "shared", person: "cat").last)
        try await replaceWraps(of: share, by: cats, opening: url)
    }

    private func playOlderWrap(_ ada: Device) async throws {
        let share = try await share(open: .readOnly)
        let name = share.recordID.recordName
        let cat = try await device("cat")
        try await accept(share.url, on: cat)
        _ = try await cat.shared.record(for: Self.id(name, try await theirs()))
        let older = try #require(liar.versions(of: name, in: "shared", person: "cat").last)
        for permission in [CKShare.ParticipantPermission.none, .readOnly] {
            let current = try #require(try await ada.own.record(for: share.recordID) as? CKShare)
            current.publicPermission = permission
            _ = try await ada.own.save(current)
        }
        try await write("secret text of the second epoch", to: "One", ada.own)
        try await replaceWraps(of: share, by: older, opening: share.url)
    }

    private func replaceWraps(of share: CKShare, by other: JSON, opening url: URL?) async throws {
        let ben = try await device("ben")
        let name = share.recordID.recordName
        let (link, wrap) = (
            other["shareKeys", "epochs"]?.items?.first?["link"], other["shareKeys", "epochs"]?.items?.first?["wrap"]
        )
        let attack = attack
        try await lie { exchange in
            guard exchange.person == "ben" else { return }
            exchange.change { answer in
                answer.mutateRecord(name) { record in
                    Attack.editEpochs(&record) { epoch in
                        if attack == .linkWrapOfOtherSlot { epoch["wrap"] = wrap } else { epoch["link"] = link }
                    }
                }
            }
        } during: {
            try await accept(url, on: ben)
            _ = try await text("One", in: try await theirs(), ben.shared)
        }
        #expect(try await text("One", in: try await theirs(), ben.shared) != nil)
    }

    /// Two open shares: the link of one leads to the other, or has its wrap.
    private func playOtherShare(_ ada: Device) async throws {
        let share = try await share(open: .readOnly)
        let zone = CKRecordZone.ID(zoneName: "Other")
        try await makeFolder(zone)
        let other = try await self.share(inviting: [], in: zone, open: .readOnly)
        _ = try await ada.own.record(for: share.recordID)
        _ = try await ada.own.record(for: other.recordID)
        let url = try #require(share.url)
        let cat = try await device("cat")
        try await accept(other.url, on: cat)
        let theirs = try await theirs(zone)
        _ = try await cat.shared.record(for: Self.id(other.recordID.recordName, theirs))
        let others = try #require(liar.versions(of: other.recordID.recordName, in: "shared", person: "cat").last)
        guard attack == .linkLeadsElsewhere else { return try await replaceWraps(of: share, by: others, opening: url) }
        let ben = try await device("ben")
        let resolved = try #require(liar.traffic.last { $0.person == "cat" && $0.endpoint == "records/resolve" }).answer
        let accepted = try #require(liar.traffic.last { $0.person == "cat" && $0.endpoint == "records/accept" }).answer
        try await lie { exchange in
            guard exchange.person == "ben" else { return }
            if exchange.endpoint == "records/resolve" { exchange.answer = resolved }
            if exchange.endpoint == "records/accept" { exchange.answer = accepted }
        } unnoticed: {
            if !isHonest { try await accept(other.url?.withoutFragment, on: ben) }
        } during: {
            try await accept(url, on: ben)
            _ = try await text("One", in: isHonest ? try await self.theirs() : theirs, ben.shared)
        }
    }
}

extension URL {
    /// The link as the cloud knows it.
    var withoutFragment: URL? { URL(string: String(absoluteString.prefix { $0 != "#" })) }
}
