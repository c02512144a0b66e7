import CloudKit

/// The story: two devices of one user, one address book.
struct Scenario {
    let options: DemoOptions
    let terminal: Terminal
    let zone = CKRecordZone.ID(zoneName: "Contacts")

    var a: Device
    var b: Device
    /// What the address book should hold now, by record name: the story's own bookkeeping, to check the cloud against.
    var expected: [String: Contact] = [:]

    /// The record names of the file in a fixed order, to tell the story with: the same people for the same file.
    var cast: [String] = []

    private var step = 0

    /// So many people the story needs.
    static let castSize = 40
    static let batchSize = 200
    static let pageSize = 100

    init(_ options: DemoOptions) {
        self.options = options
        terminal = Terminal(verbose: options.isVerbose)
        a = Device(name: "A", profile: options.profileA, container: options.container)
        b = Device(name: "B", profile: options.profileB, container: options.container)
    }

    mutating func run() async throws {
        let start = ContinuousClock.now
        terminal.line(terminal.styled("Contacts on two devices", "1"))
        try await tell("Two devices of one user") { try await $0.meetDevices() }
        try await tell("A zone for the address book") { try await $0.makeZone() }
        let contacts = try await tell("Read the vCards") { try $0.readContacts() }
        try await tell("Device A saves them") { try await $0.upload(contacts) }
        try await tell("Device B pulls everything") { try await $0.pullAll() }
        try await tell("Both devices edit") { try await $0.editOnBoth() }
        try await tell("A conflict, merged field by field") { try await $0.meetConflict() }
        try await tell("Two people leave, in one atomic batch") { try await $0.deleteTwo() }
        try await tell("An atomic batch that fails") { try await $0.failAtomically() }
        try await tell("Ask by the beginning of a name") { try await $0.queryByPrefix() }
        try await tell("Page through everyone") { try await $0.pageThroughEveryone() }
        try await tell("Device B catches up") { try await $0.catchUp() }
        try await tell("What only the devices can read") { try await $0.keepSecrets() }
        terminal.success("All as expected in \((ContinuousClock.now - start).shown).")
    }

    /// Numbers, titles and times one step.
    @discardableResult
    private mutating func tell<Value>(
        _ title: String, _ body: (inout Scenario) async throws -> Value
    ) async throws -> Value {
        step += 1
        terminal.heading(step, title)
        let start = ContinuousClock.now
        let value = try await body(&self)
        terminal.row("time", (ContinuousClock.now - start).shown)
        return value
    }

    /// Ends the story when something is not as it should be.
    func expect(_ condition: Bool, _ message: @autoclosure () -> String) throws(DemoFailure) {
        guard condition else { throw DemoFailure(.unexpected, "Not as expected: " + message()) }
    }

    /// A record of a device's copy; it must be there.
    func record(_ name: String, on device: Device) throws(DemoFailure) -> CKRecord {
        guard let record = device.book[name, in: zone] else {
            throw DemoFailure(.unexpected, "Not as expected: device \(device.name) has no record \(name).")
        }
        return record
    }

    /// A member of the cast, as the address book should hold it now.
    func someone(_ index: Int) throws(DemoFailure) -> Contact {
        guard index < cast.count, let contact = expected[cast[index]] else {
            throw DemoFailure(.unexpected, "Not as expected: person \(index) of the story is not there.")
        }
        return contact
    }
}
