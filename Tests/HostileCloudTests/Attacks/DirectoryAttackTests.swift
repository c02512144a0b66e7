import CloudKitClient
import CloudKitEncryption
import CloudKitModel
import CloudKitTesting
import Foundation
import IdentityDirectory
import OrderedStore
import Testing

@testable import CloudKit
@testable import CloudKitAccounts

/// The verifiable directory of identities.
@Suite(.timeLimit(.minutes(20))) struct DirectoryAttackTests {
    @Test(arguments: Attack.of(.directory))
    func `B-TM-08 a cloud that lies with its directory`(_ attack: Attack) async throws {
        try await Stage.check(attack) { stage in try await stage.playDirectory() }
    }
}

extension Stage {
    fileprivate func playDirectory() async throws {
        try await makeFolder()
        switch attack {
        case .directoryShowsGhostForOwner: try await playPublishedOwner()
        case .directoryShowsGhostForMember: try await playPublishedMember()
        case .directoryForked: try await playForkedDirectory()
        default: try await playChangedAnswer()
        }
    }

    // MARK: Answers

    /// The device has seen a head, and meets a new person.
    private func playChangedAnswer() async throws {
        let ada = try await device("ada")
        let share = try await share(inviting: ["ben"])
        let older = try #require(lookups.last)
        _ = try await device("cat")
        try await add("cat", to: share.recordID)
        let proofs = try #require(lookups.last?["proofs"])
        let foreign = attack == .directoryOfOtherCloud ? try await foreignAnswer() : .null
        _ = try await device("dan")
        let attack = attack
        try await lie { exchange in
            guard exchange.endpoint == "directory/lookup", exchange.person == "ada" else { return }
            if attack == .directorySilent {
                exchange.status = 404
                exchange.body = Array("{}".utf8)
            }
            exchange.change { answer in
                switch attack {
                case .directoryKeysReplaced: Self.flip(&answer["keys"])
                case .directoryOfOtherCloud:
                    for key in ["keys", "head", "heads"] { answer[key] = foreign[key] }
                case .directoryHeadDamaged: Self.flip(&answer["head"])
                case .directoryHeadOlder: answer = older
                case .directoryProofDamaged:
                    answer.mutateItems(of: "proofs") { for index in $0.indices { Self.flip(&$0[index]["proof"]) } }
                case .directoryProofOfOther: answer["proofs"] = proofs
                case .directoryHistoryRemoved: answer["heads"] = []
                case .directoryHistoryDamaged:
                    answer.mutateItems(of: "heads") { for index in $0.indices { Self.flip(&$0[index]["proof"]) } }
                default: break
                }
            }
        } during: {
            try await add("dan", to: share.recordID)
        }
        _ = try await ada.own.record(for: share.recordID)
        try await accept(share.url, on: try await device("dan"))
        #expect(try await text("One", in: try await theirs(), try await device("dan").shared) == "secret text of One")
    }

    /// The answers to Ada's look-ups so far.
    private var lookups: [JSON] {
        liar.traffic.filter { $0.endpoint == "directory/lookup" && $0.person == "ada" }.map(\.answer)
    }

    /// An answer of the directory of a cloud with other keys.
    private func foreignAnswer() async throws -> JSON {
        try await HostileCloud.run { other in
            let stage = Stage(attack, other, isHonest: true)
            try await stage.makeFolder()
            _ = try await stage.share(inviting: ["ben"])
            return try #require(stage.lookups.last)
        }
    }

    private static func flip(_ value: inout JSON?) {
        guard var bytes = value?.base64, !bytes.isEmpty else { return }
        bytes[bytes.count / 2] ^= 1
        value = JSON(base64: bytes)
    }

    // MARK: Entries

    /// Publishes the ghost's keys as those of a person.
    private func publishGhost(for person: String) async throws {
        guard !isHonest else { return }
        try await publish(try await ghost().identity.publicIdentity.bytes, for: person)
        noteLie()
    }

    /// Publishes an identity as that of a person.
    private func publish(_ identity: [UInt8], for person: String) async throws {
        let store = cloud.running.accountStore
        let account = try #require(try await store.accounts.account(email: HostileCloud.email(person)))
        try await store.write { transaction in
            var keychain = try #require(try await Keychain.table.row(account.id, in: transaction))
            keychain.identity = identity
            try Keychain.table.set(account.id, to: keychain, in: &transaction)
            try transaction.noteDirectoryChange(.account(account.id))
        }
    }

    private func playPublishedOwner() async throws {
        let ada = try await device("ada")
        try await feed(ada.own)
        let again = try cloud.restarted(ada)
        try await lie { _ in
        } during: {
            try await publishGhost(for: "ada")
            try await feed(again.own)
        }
    }

    /// Ada meets Ben when the directory has the ghost's keys for him; his own device notices.
    private func playPublishedMember() async throws {
        let ben = try await device("ben")
        _ = try await ben.own.save(CKRecordZone(zoneName: "Bens"))
        let zone = CKRecordZone.ID(zoneName: "Bens")
        try await feed(ben.own, in: zone)
        let again = try cloud.restarted(ben)
        try await lie { _ in
        } unnoticed: {
            try await publishGhost(for: "ben")
            _ = try await share(inviting: ["ben"])
        } during: {
            try await feed(again.own, in: zone)
        }
    }

    /// Ada is shown a directory with the ghost's keys for Ben, and everybody else one without.
    private func playForkedDirectory() async throws {
        for person in ["ada", "ben", "cat"] { _ = try await device(person) }
        try await publish()
        let bens = try await device("ben").secret.identity().publicIdentity.bytes
        let before = try await directoryRows()
        try await lie { _ in
        } during: {
            if !isHonest { try await publish(try await ghost().identity.publicIdentity.bytes, for: "ben") }
            let share = try await share(inviting: ["ben", "cat"])
            if !isHonest {
                // The histories differ from here on.
                try await restoreDirectory(before)
                try await publish(bens, for: "ben")
                _ = try await device("dora")
                try await publish()
                noteLie()
            }
            let cat = try await device("cat")
            try await accept(share.url, on: cat)
            _ = try await cat.shared.record(for: Self.id(share.recordID.recordName, try await theirs()))
        }
    }

    /// Makes the directory publish what is pending, by a look-up.
    private func publish() async throws {
        _ = try await cloud.running.accountStore.directory.lookup([], of: nil, earlier: [])
    }

    private static let directory = Partition("directory")

    private func directoryRows() async throws -> [Entry] {
        try await cloud.running.storage.store.read(Self.directory) { transaction in
            try await transaction.scan(KeyRange(lower: [], upper: [0xFF]), limit: .max)
        }
    }

    private func restoreDirectory(_ rows: [Entry]) async throws {
        try await cloud.running.storage.store.write([Self.directory]) { transaction in
            transaction.clear(KeyRange(lower: [], upper: [0xFF]))
            for row in rows { transaction.set(row.key, row.value) }
        }
    }
}
