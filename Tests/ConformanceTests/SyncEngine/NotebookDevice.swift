import CloudKitTesting
import FaultyNetwork
import Foundation
import Testing

@testable import CloudKit

/// A device of a simulation: an app, and the weather on its way to the cloud.
struct NotebookDevice {
    private(set) var app: Notebook
    let database: CKDatabase
    let weather: Weather
    private let isSealed: Bool

    /// - Parameter isSealed: Whether texts are encrypted.
    init(_ database: CKDatabase, _ weather: Weather, isSealed: Bool = false) throws {
        self.database = database
        self.weather = weather
        self.isSealed = isSealed
        app = try Notebook(database, isSealed: isSealed)
    }

    /// Starts the app again from its disk, as after the end of its process.
    mutating func restart() async throws { app = try Notebook(database, disk: await app.disk, isSealed: isSealed) }

    /// Waits until the disk holds the engine's reported state, and returns its notes; nil if the app is dead.
    func storedNotes() async -> [String: Notebook.Note]? {
        guard await !app.isDead else { return nil }
        await app.syncEngine.post(nil)
        guard let disk = try? JSONDecoder().decode(Notebook.Disk.self, from: await app.disk) else {
            Issue.record("the disk cannot be read")
            return nil
        }
        return disk.notes
    }
}

extension [NotebookDevice] {
    /// Repairs the network and syncs until no device has anything left to send.
    ///
    /// - Parameter roundsMax: Rounds of all devices, a minute apart, after which they have failed to come to rest.
    func settle(_ clock: TestClock, roundsMax: Int) async throws {
        for device in self { device.weather.become(0) }
        var quietRounds = 0
        for _ in 0..<roundsMax {
            clock.advance(by: .seconds(60))
            // A device that had nothing to send before a round in which all fetched has everything, but for what another one offered a restored cloud
            // again when it fetched later in the round.
            var isQuiet = true
            for device in self {
                isQuiet = await device.app.syncEngine.state.pendingRecordZoneChanges.isEmpty && isQuiet
            }
            for device in self {
                do {
                    try await device.app.syncEngine.sendChanges()
                    try await device.app.syncEngine.fetchChanges()
                } catch {
                    isQuiet = false
                }
            }
            quietRounds = isQuiet ? quietRounds + 1 : 0
            if quietRounds == 2 { return }
        }
        Issue.record("the devices do not come to rest")
    }
}

extension TestClock {
    /// Runs a body while time passes: requests whose answers are lost wait on this clock before they are sent again.
    func passing(_ body: () async throws -> Void) async throws {
        let passage = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: .milliseconds(5))
                advance(by: .milliseconds(250))
            }
        }
        defer { passage.cancel() }
        try await body()
    }
}

extension CKDatabase {
    /// Returns the notes that the cloud holds.
    func heldNotes() async throws -> [String: Notebook.Note] {
        var held: [String: Notebook.Note] = [:]
        var token: CKServerChangeToken?
        var moreComing = true
        while moreComing {
            let page = try await recordZoneChanges(inZoneWith: Notebook.zone.zoneID, since: token)
            for (id, result) in page.modificationResultsByID {
                let record = try result.get().record
                held[id.recordName] = Notebook.Note(
                    text: record["text"] as? String ?? record.encryptedValues["text"] as? String ?? "",
                    edit: record["edit"] as? Int ?? -1)
            }
            token = page.changeToken
            moreComing = page.moreComing
        }
        return held
    }
}
