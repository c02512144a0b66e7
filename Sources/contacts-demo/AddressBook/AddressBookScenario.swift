import CloudKit

/// The scenario: two devices of one user with one address book.
struct AddressBookScenario {
    let options: DemoOptions
    let terminal: Terminal
    let zone = CKRecordZone.ID(zoneName: "Contacts")

    var a: AddressBookDevice
    var b: AddressBookDevice
    /// The expected content of the address book, by record name.
    var expected: [String: Contact] = [:]

    /// The record names of the file in a fixed order, so that a file always gives the same scenario.
    var cast: [String] = []

    private var step = 0

    /// The number of contacts that the scenario needs.
    static let castSize = 40
    static let batchSize = 200
    static let pageSize = 100

    init(_ options: DemoOptions) {
        self.options = options
        terminal = Terminal(verbose: options.isVerbose)
        a = AddressBookDevice(name: "A", profile: options.profileA, container: options.container)
        b = AddressBookDevice(name: "B", profile: options.profileB, container: options.container)
    }

    mutating func run() async throws {
        let start = ContinuousClock.now
        terminal.line(terminal.styled("Contacts on two devices", "1"))
        try await step("Two devices of one user") { try await $0.checkDevices() }
        try await step("A zone for the address book") { try await $0.makeZone() }
        let contacts = try await step("Read the vCards") { try $0.readContacts() }
        try await step("Device A saves them") { try await $0.upload(contacts) }
        try await step("Device B pulls everything") { try await $0.pullAll() }
        try await step("Both devices edit") { try await $0.editOnBoth() }
        try await step("A conflict, merged field by field") { try await $0.mergeConflict() }
        try await step("Two contacts are deleted in one atomic batch") { try await $0.deleteTwo() }
        try await step("An atomic batch that fails") { try await $0.failAtomically() }
        try await step("Query by the prefix of a name") { try await $0.queryByPrefix() }
        try await step("Page through all contacts") { try await $0.pageThroughContacts() }
        try await step("Device B catches up") { try await $0.catchUp() }
        try await step("Encrypted values that only the devices can read") { try await $0.writeSecrets() }
        terminal.success("All as expected in \((ContinuousClock.now - start).shown).")
    }

    /// Runs one step with a number, a title and its duration.
    @discardableResult
    private mutating func step<Value>(
        _ title: String, _ body: (inout AddressBookScenario) async throws -> Value
    ) async throws -> Value {
        step += 1
        terminal.heading(step, title)
        let start = ContinuousClock.now
        let value = try await body(&self)
        terminal.row("time", (ContinuousClock.now - start).shown)
        return value
    }

    /// Ends the scenario if a condition does not hold.
    func expect(_ condition: Bool, _ message: @autoclosure () -> String) throws(DemoFailure) {
        guard condition else { throw DemoFailure(.unexpected, "Not as expected: " + message()) }
    }

    /// Returns a record of a device's copy.
    func record(_ name: String, on device: AddressBookDevice) throws(DemoFailure) -> CKRecord {
        guard let record = device.book[name, in: zone] else {
            throw DemoFailure(.unexpected, "Not as expected: device \(device.name) has no record \(name).")
        }
        return record
    }

    /// Returns the expected version of a contact of the scenario.
    func contact(_ index: Int) throws(DemoFailure) -> Contact {
        guard index < cast.count, let contact = expected[cast[index]] else {
            throw DemoFailure(.unexpected, "Not as expected: contact \(index) of the scenario is missing.")
        }
        return contact
    }
}
