import AccessTable
import CloudKitModel
import CloudKitServer
import SeededChance

/// Something that must not be.
struct Violation: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Devices of several people that do random things to one cloud over a bad network, and a model of what should come of it.
///
/// Each step draws its chance from the seed and its own number, so that steps can be left out of a history and the others stay
/// what they are.
final class Simulation {
    let world: SimulatedCloud
    var people: People
    /// Whose room the operator has taken.
    var withoutRoom: Set<Int> = []
    /// Whether anything was ever sealed: keys that are lost matter from then on.
    var hasSealed = false
    var model: Model
    var devices: [Device] = []
    /// What the devices last wrote to their disks.
    var disks: [Device] = []
    var chance: SplitMix64
    /// Makes every value and every share's name a new one.
    var counter = 0
    /// How many requests of a hundred go wrong.
    var trouble = 0
    /// Links that somebody has seen: where they led.
    var links: [String: Link] = [:]
    /// All who mean to go on reading what they once could.
    var spies: [Spy] = []
    /// All keys of shares that the cloud ever took.
    var heldKeys: [HeldKeys] = []
    /// Who ever had a part in a zone of somebody else.
    var known: Set<Acquaintance> = []
    let trail: Trail
    let writers = Writers()
    var listeners: [Listener] = []
    /// How far feeds were read by those who compare them with notifications.
    var watched: [Watch: String] = [:]
    /// What is in files, by their checksums.
    var fileTexts: [String: String] = [:]

    struct Link {
        var place: Place
        var incarnation: Int
        var share: String
        /// The record that is shared; nil: the whole zone.
        var root: String?
        /// The seat of a link that just one can use; nil: the link for all.
        var seat: String?
        /// The part of it that no server sees.
        var fragment: String?
    }

    struct Acquaintance: Hashable {
        var person: Int
        var place: Place
    }

    private let seed: UInt64

    /// - Parameter keepsAnswers: Whether the trail has what the cloud answered, too.
    init(seed: UInt64, engine: Engine, keepsAnswers: Bool = false) async throws {
        self.seed = seed
        trail = Trail(hasAnswers: keepsAnswers)
        chance = SplitMix64(seed: seed)
        world = try SimulatedCloud(engine, seed: seed)
        people = try await People(in: world)
        model = Model(try AccessTable())
        for person in people.users.indices { addDevices(of: person) }
    }

    // MARK: One history

    /// Runs steps by their numbers and judges what came of them.
    func run(_ steps: [Int]) async throws {
        for person in people.users.indices { try await subscribe(person) }
        for place in People.zones { try await makeZone(place, on: device(of: place.owner)) }
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
        // Nothing comes after it by which devices would hear of the zone in another way.
        try await withoutTrouble(forgetWhatWent)
        try await settle()
        try await checkFilesLeft()
    }

    func note(_ event: String) { trail.note(event) }

    // MARK: Chance

    func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &chance) }

    func pick<Value>(_ values: [Value]) -> Value? { values.randomElement(using: &chance) }

    func fresh() -> Int {
        counter += 1
        return counter
    }

    // MARK: Requests

    var cloud: ObservedCloud { ObservedCloud(cloud: world.cloud, trail: trail, writers: writers) }

    func device(of person: Int) -> Int { devices.firstIndex { $0.person == person } ?? 0 }

    func zoneID(_ place: Place, for device: Device) -> ZoneID {
        ZoneID(zoneName: place.zone, owner: device.person == place.owner ? .caller : people.users[place.owner])
    }

    func address(_ place: Place, for device: Device) -> DatabaseAddress { world.address(device.scope(of: place)) }

    /// Lets a request of a device travel.
    ///
    /// - Parameters:
    ///   - isQuiet: Whether the history names it only when something happens to it.
    ///   - body: What the cloud does with it and what the model says to that; once for each time it arrives.
    /// - Returns: nil: the device has no answer.
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

/// What a request came to, whether as a whole or for its item.
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
