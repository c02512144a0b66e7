import AccessTable
import CloudKitModel
import CloudKitServer
import SeededChance

/// A violation of an invariant.
struct Violation: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A simulation of several users' devices with random steps against one cloud over a faulty network, and a model of the results.
///
/// Each step derives its random numbers from the seed and its own number, so that the other steps do not change if steps are
/// removed from a history.
final class Simulation {
    let world: SimulatedCloud
    var people: SimulatedUsers
    /// The users whose quota is exhausted.
    var withoutRoom: Set<Int> = []
    /// Whether a value was ever encrypted, so that lost keys matter.
    var hasSealed = false
    var model: Model
    var devices: [Device] = []
    /// The stored states of the devices.
    var disks: [Device] = []
    var chance: SplitMix64
    /// The counter that makes values and share names unique.
    var counter = 0
    /// The last version of a first statement.
    var statementVersion: UInt64 = 0
    /// The percentage of requests that fail.
    var trouble = 0
    /// The known links and their targets.
    var links: [String: Link] = [:]
    /// The spies, who try to continue reading after losing access.
    var spies: [Spy] = []
    /// All share keys ever stored in the cloud.
    var heldKeys: [HeldKeys] = []
    /// The users who ever participated in another user's zone.
    var known: Set<KnownZone> = []
    let trail: Trail
    let writers = Writers()
    var listeners: [Listener] = []
    /// The positions of the feeds that are compared with notifications.
    var watched: [Watch: String] = [:]
    /// The states of other devices that devices have opened and compared, and how often they had to read a whole feed for that.
    var statesCompared = 0
    var statesJudged = 0
    /// The content of files by checksum.
    var fileTexts: [String: String] = [:]

    struct Link {
        var place: Place
        var incarnation: Int
        var share: String
        /// The shared record; nil for the whole zone.
        var root: String?
        /// The participant slot of a one-time link; nil for the public link.
        var slot: String?
        /// The secret part, which is not sent to the server.
        var fragment: String?
    }

    struct KnownZone: Hashable {
        var person: Int
        var place: Place
    }

    private let seed: UInt64

    /// Creates a simulation.
    ///
    /// - Parameter keepsAnswers: Whether the trail includes the cloud's answers.
    init(seed: UInt64, engine: Engine, keepsAnswers: Bool = false) async throws {
        self.seed = seed
        trail = Trail(hasAnswers: keepsAnswers)
        chance = SplitMix64(seed: seed)
        world = try await SimulatedCloud(engine, seed: seed)
        people = try await SimulatedUsers(in: world)
        model = Model(try AccessTable())
        for person in people.users.indices { addDevices(of: person) }
    }

    // MARK: One history

    /// Runs steps by their numbers and checks the result.
    func run(_ steps: [Int]) async throws {
        for person in people.users.indices { try await subscribe(person) }
        for place in SimulatedUsers.zones { try await makeZone(place, on: device(of: place.owner)) }
        chance = SplitMix64(seed: seed ^ 0x0be6)
        if roll(4) > 0 { try await beginTogether() }
        for step in steps {
            chance = SplitMix64(seed: seed &* 1_000_003 &+ UInt64(step) &* 7_919)
            note("step \(step)")
            try await self.step()
            if !writers.isEmpty { try await listen() }
            if step % 25 == 24 { try await settle() }
        }
        chance = SplitMix64(seed: seed)
        try await settle()
        // No later step would inform devices of the zone in another way.
        try await withoutFaults(forgetWhatWent)
        try await settle()
        try await checkFilesLeft()
    }

    func note(_ event: String) { trail.note(event) }

    // MARK: Random numbers

    func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &chance) }

    func pick<Value>(_ values: [Value]) -> Value? { values.randomElement(using: &chance) }

    func fresh() -> Int {
        counter += 1
        return counter
    }

    /// Returns the version of a record's first statement: the time, or the one after the last, as devices that know earlier records of a name
    /// choose it.
    func nextStatementVersion() -> UInt64 {
        statementVersion = max(statementVersion + 1, UInt64(world.time.now))
        return statementVersion
    }

    // MARK: Requests

    var cloud: ObservedCloud { ObservedCloud(cloud: world.cloud, trail: trail, writers: writers) }

    func device(of person: Int) -> Int { devices.firstIndex { $0.person == person } ?? 0 }

    func zoneID(_ place: Place, for device: Device) -> ZoneID {
        ZoneID(zoneName: place.zone, owner: device.person == place.owner ? .caller : people.users[place.owner])
    }

    func address(_ place: Place, for device: Device) -> DatabaseAddress { world.address(device.scope(of: place)) }

    /// Sends a request of a device through the faulty network.
    ///
    /// - Parameters:
    ///   - isQuiet: Whether the trail logs it only if it fails.
    ///   - body: Executes the request and checks it against the model; called once per arrival.
    /// - Returns: The answer; nil if it was lost.
    func deliver<Answer>(_ event: String, isQuiet: Bool = false, _ body: () async throws -> Answer) async throws
        -> Answer?
    {
        var fate = Fate.arrives
        if roll(100) < trouble { fate = pick([.requestLost, .answerLost, .doubled]) ?? .arrives }
        if !isQuiet || fate != .arrives { note("  " + event + (fate == .arrives ? "" : " (\(fate.rawValue))")) }
        switch fate {
        case .requestLost: return nil
        case .answerLost:
            _ = try await body()
            return nil
        case .doubled:
            _ = try await body()
            return try await body()
        case .arrives: return try await body()
        }
    }

    func check(_ condition: Bool, _ message: @autoclosure () -> String) throws {
        guard condition else { throw Violation(message()) }
    }
}

/// The outcome of a request or of its item.
enum Answer<Value> {
    case done(Value)
    case refused(RequestFailure)

    init(_ body: () async throws -> Value) async throws {
        do {
            self = .done(try await body())
        } catch let failure as RequestFailure {
            self = .refused(failure)
        }
    }
}
