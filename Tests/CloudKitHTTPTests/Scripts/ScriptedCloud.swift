import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer
import Crypto
import Foundation
import OrderedStore
import SeededChance
import SimulatedSigners
import Synchronization
import TextEncodings
import WebCredentials

/// A cloud of which every byte is the same in every run: its clock moves a second with each request, its random bytes depend
/// on the number of the request alone, and its secret and address are fixed.
struct ScriptedCloud {
    private let cloud: TestCloud
    private let chance: RepeatedChance
    private let store: ListedStore
    private var requests: UInt64 = 0
    /// The values of the names that scripts use.
    private(set) var values: [String: String] = [:]

    static let address = "https://cloud.example.com"
    private static let serverKeyBytes = [UInt8](repeating: 9, count: 32)

    /// Runs such a cloud while `body` runs. Its scripts can use the names `$API` and `$OTHER_API`, API tokens;
    /// `$OPERATOR`, an operator's token; `$KEY_ID`, a server-to-server key; `$DATABASE`, `$DEVICE` and `$ADMIN`, the
    /// beginnings of the paths of its container. After a challenge for a passkey `$PASSKEY`, `$MADE_DATA` and `$ATTESTATION` are those of one
    /// that was made for it; after an address at the provider of identities `$STATE` is the one in it.
    static func run(_ body: @Sendable @escaping (inout ScriptedCloud) async throws -> Void) async throws {
        let chance = RepeatedChance()
        let store = ListedStore()
        let random: @Sendable (Int) -> [UInt8] = { chance.bytes($0) }
        // Short, because the next request waits for notifications that are delivered after a rest.
        let rest: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: min($0, .milliseconds(5))) }
        try await TestCloud.run(
            CloudConfiguration(port: 0, publicURL: address, longPollHold: .zero), store: store, rounds: 10,
            pushServices: [SilentPushService()], random: random, rest: rest, provider: KindProvider()
        ) { cloud in
            var scripted = ScriptedCloud(cloud: cloud, chance: chance, store: store)
            try await scripted.makeTokens()
            try await body(&scripted)
        }
    }

    private init(cloud: TestCloud, chance: RepeatedChance, store: ListedStore) {
        self.cloud = cloud
        self.chance = chance
        self.store = store
    }

    private mutating func makeTokens() async throws {
        let key = try P256.Signing.PrivateKey(rawRepresentation: Self.serverKeyBytes)
        values["API"] = try await cloud.apiToken().api
        values["OTHER_API"] = try await cloud.apiToken(
            origins: ["https://app.example.com"], callback: "https://app.example.com/signed-in"
        ).api
        values["OPERATOR"] = try await cloud.operatorToken()
        values["KEY_ID"] = try await cloud.serverKey(key.publicKey.pemRepresentation)
        values["DATABASE"] = "/database/1/\(TestCloud.container)/development"
        values["DEVICE"] = "/device/1/\(TestCloud.container)/development"
        values["ADMIN"] = "/admin/1/\(TestCloud.container)/development"
    }

    /// Sends a request and waits until all that follows from it is stored.
    mutating func send(_ step: HTTPScript.Step) async throws -> RawClient.Answer {
        requests += 1
        chance.begin(requests)
        cloud.clock.advance(1000)
        let target = filled(step.target.replacing(Self.address, with: ""))
        let body = filled(step.body)
        var headers = step.headers.mapValues(filled)
        if headers["X-Apple-CloudKit-Request-SignatureV1"] == "$SIGNATURE" {
            let date = headers["X-Apple-CloudKit-Request-ISO8601Date"] ?? ""
            headers["X-Apple-CloudKit-Request-SignatureV1"] = try Self.signature(of: target, body, date)
        }
        var answer = try await cloud.client.send(step.method, target, body: body, headers: headers)
        // The only value that neither the clock nor the fixed random bytes decide.
        if let uuid = answer.headers["x-apple-request-uuid"] { answer.body = answer.body.replacing(uuid, with: "UUID") }
        for keep in step.keeps {
            guard let value = keep.value(in: answer) else { throw ScriptError.noValue("\(keep.path): \(answer.body)") }
            values[keep.name] = value.replacing(Self.address, with: "")
        }
        try actAsBrowser(answer)
        try await settle()
        return answer
    }

    /// Does what a browser does with a challenge, and with an address of the provider.
    private mutating func actAsBrowser(_ answer: RawClient.Answer) throws {
        if let challenge = (answer["challenge"] as? String).flatMap({ Base64.decode($0) }) {
            let authenticator = SimulatedAuthenticator(key: try .key(.eddsa))
            let made = try authenticator.register(challenge)
            values["PASSKEY"] = Base64.encode(authenticator.id)
            values["MADE_DATA"] = Base64.encode(made.clientData)
            values["ATTESTATION"] = Base64.encode(made.attestation)
        }
        if let url = answer["url"] as? String, let start = url.firstRange(of: "?state=") {
            values["STATE"] = String(url[start.upperBound...])
        }
    }

    /// Puts values in the place of their names.
    func filled(_ text: String) -> String {
        var text = text
        // Longer names first: one may begin with another.
        for (name, value) in values.sorted(by: { $0.key.count > $1.key.count }) {
            text = text.replacing("$" + name, with: value)
        }
        return text
    }

    /// Waits until notifications have reached their receivers' partitions: the only work that goes on after an answer, and
    /// the store holds its jobs until they are done.
    private func settle() async throws {
        while try await store.entries().contains(where: { $0.key.first == Self.crossPartitionNotification }) {
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    /// The first byte of a notification's key that waits to be carried.
    private static let crossPartitionNotification: UInt8 = 0x33

    private static func signature(of target: String, _ body: String, _ date: String) throws -> String {
        let key = try P256.Signing.PrivateKey(rawRepresentation: serverKeyBytes)
        let digest = Data(SHA256.hash(data: Data(body.utf8))).base64EncodedString()
        return try key.signature(for: Data("\(date):\(digest):\(target)".utf8)).derRepresentation
            .base64EncodedString()
    }

    /// Every entry of the store, sorted by partition and key.
    func entries() async throws -> [ListedStore.StoredEntry] { try await store.entries() }
}

/// Random bytes that depend on the number of the request, not on how many the requests before it took.
final class RepeatedChance: Sendable {
    private let generator = Mutex(SplitMix64(seed: 0))

    func begin(_ number: UInt64) { generator.withLock { $0 = SplitMix64(seed: number) } }

    func bytes(_ count: Int) -> [UInt8] {
        generator.withLock { generator in
            (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }
    }
}

/// A store in memory that lists its partitions.
final class ListedStore: OrderedStore {
    struct StoredEntry: Sendable {
        var partition: String
        var key: [UInt8]
        var value: [UInt8]
    }

    private let store = MemoryStore()
    private let written = Mutex<Set<Partition>>([])

    var epoch: UInt64 { store.epoch }
    var damage: StoreDamage { store.damage }
    func renewEpoch(from epoch: UInt64) async throws { try await store.renewEpoch(from: epoch) }

    func read<Value: Sendable>(
        _ partition: Partition, _ body: nonisolated(nonsending) @Sendable (inout ReadTransaction) async throws -> Value
    ) async throws -> Value {
        try await store.read(partition, body)
    }

    func write<Value: Sendable>(
        _ partitions: [Partition],
        _ body: nonisolated(nonsending) @Sendable (inout WriteTransaction) async throws -> Value
    ) async throws -> Value {
        written.withLock { $0.formUnion(partitions) }
        return try await store.write(partitions, body)
    }

    func commits() -> AsyncStream<Partition> { store.commits() }

    /// Every entry, sorted by partition and key.
    func entries() async throws -> [StoredEntry] {
        var entries: [StoredEntry] = []
        for partition in written.withLock({ $0 }).sorted(by: { $0.name < $1.name }) {
            let whole = KeyRange(lower: [], upper: [0xFF])
            entries += try await store.read(partition) { try await $0.scan(whole, limit: .max) }
                .map { StoredEntry(partition: partition.name, key: $0.key, value: $0.value) }
        }
        return entries
    }
}

/// A provider of identities that vouches for whoever comes back.
private struct KindProvider: SignInProvider {
    let label = "Example Work"

    func authorizationURL(_ request: ProviderRequest) async throws -> String {
        "https://id.example.com/authorize?state=\(request.state)"
    }

    func identity(code: String, _ request: ProviderRequest, now: Int64) async throws -> IDToken {
        IDToken(
            issuer: "https://id.example.com", subject: code, email: "ada@work.example.com", isEmailVerified: true,
            name: "Ada Lovelace")
    }
}

/// A push service that takes every address and message.
struct SilentPushService: PushService {
    let name = "webPush"
    let announcement = ["applicationServerKey": "BPublicKeyOfTheCloud"]

    func address(_ subscription: [UInt8]) throws(RequestFailure) -> PushAddress {
        PushAddress(bytes: subscription, identity: String(decoding: subscription, as: UTF8.self))
    }

    func send(_ message: PushMessage, to address: PushAddress) async -> PushOutcome { .delivered }
}
