import CloudKit
import CloudKitTesting
import Notes
import Testing

@Suite(.timeLimit(.minutes(20))) struct NotebookTests {
    private let container = "iCloud.com.example.notes"

    /// Runs the body with a cloud, a user and the notebooks of two devices.
    private func withTwoDevices(
        _ body: (TestCloud, TestUser, _ phone: (TestDevice, Notebook), _ laptop: (TestDevice, Notebook)) async throws ->
            Void
    ) async throws {
        try await TestCloud.run { cloud in
            let ada = try await cloud.user("ada")
            let phone = try await ada.device("phone")
            let laptop = try await ada.device("laptop")
            let onPhone = Notebook(container: try await phone.container(container))
            let onLaptop = Notebook(container: try await laptop.container(container))
            try await onPhone.open()
            try await body(cloud, ada, (phone, onPhone), (laptop, onLaptop))
        }
    }

    @Test func `a note written on one device is on the other after a sync, and gone when removed`() async throws {
        try await withTwoDevices { _, _, phone, laptop in
            try await phone.1.write(Note(id: "shopping", text: "milk"))
            try await laptop.1.sync()
            #expect(await laptop.1.notes["shopping"]?.text == "milk")
            try await laptop.1.remove("shopping")
            try await phone.1.sync()
            #expect(await phone.1.notes.isEmpty)
        }
    }

    @Test func `two devices that write at once lose nothing`() async throws {
        try await withTwoDevices { _, _, phone, laptop in
            try await phone.1.write(Note(id: "shopping", text: "milk"))
            try await laptop.1.sync()
            try await phone.1.write(Note(id: "shopping", text: "milk, bread"))
            try await laptop.1.write(Note(id: "shopping", text: "milk, tea"))
            try await phone.1.sync()
            #expect(await phone.1.notes["shopping"]?.text == "milk, bread\nmilk, tea")
        }
    }

    @Test func `without network the write fails and has no partial effect`() async throws {
        try await withTwoDevices { _, _, phone, laptop in
            phone.0.network.isOffline = true
            await #expect(throws: CKError.self) { try await phone.1.write(Note(id: "n", text: "offline")) }
            try await laptop.1.sync()
            #expect(await laptop.1.notes.isEmpty)
            phone.0.network.isOffline = false
            try await phone.1.write(Note(id: "n", text: "online"))
            try await laptop.1.sync()
            #expect(await laptop.1.notes["n"]?.text == "online")
        }
    }

    @Test func `an expired token costs a full fetch and no note`() async throws {
        try await withTwoDevices { cloud, ada, phone, laptop in
            try await phone.1.write(Note(id: "n", text: "one"))
            try await laptop.1.sync()
            try await cloud.expireChangeTokens(ofZone: "Notes", of: ada, in: container)
            try await phone.1.write(Note(id: "m", text: "two"))
            try await laptop.1.sync()
            #expect(await laptop.1.notes.values.map(\.text).sorted() == ["one", "two"])
        }
    }

    @Test func `a zone that the user removed in the settings stays removed`() async throws {
        try await withTwoDevices { cloud, ada, phone, _ in
            try await phone.1.write(Note(id: "n", text: "one"))
            try await cloud.purge(zone: "Notes", of: ada, in: container)
            await #expect(throws: Notebook.Failure.removedByUser) { try await phone.1.sync() }
            #expect(await phone.1.notes.isEmpty)
        }
    }

    @Test func `the app waits as long as the cloud asks`() async throws {
        try await withTwoDevices { cloud, _, phone, _ in
            phone.0.network.fail(with: .answers(status: 503, retryAfter: 30), to: "changes/zone")
            let before = cloud.clock.now
            try await phone.1.sync()
            #expect(cloud.clock.now >= before.addingTimeInterval(30))
        }
    }

    @Test func `a lost answer does not duplicate a note`() async throws {
        try await withTwoDevices { _, _, phone, laptop in
            phone.0.network.fail(with: .losesAnswer, to: "records/modify")
            // The framework sends the request again, and the cloud knows it.
            try await phone.1.write(Note(id: "n", text: "milk"))
            try await laptop.1.sync()
            #expect(await laptop.1.notes.values.map(\.text) == ["milk"])
        }
    }

    @Test func `a cloud that restarts costs nothing`() async throws {
        try await withTwoDevices { cloud, _, phone, laptop in
            try await phone.1.write(Note(id: "n", text: "before"))
            try await laptop.1.sync()
            try await cloud.restartServer {
                await #expect(throws: CKError.self) { try await phone.1.write(Note(id: "m", text: "meanwhile")) }
            }
            try await phone.1.write(Note(id: "m", text: "after"))
            try await laptop.1.sync()
            #expect(await laptop.1.notes.values.map(\.text).sorted() == ["after", "before"])
        }
    }

    @Test func `full storage and a missing sign-in are reported to the user`() async throws {
        try await withTwoDevices { cloud, ada, phone, laptop in
            try await cloud.setQuota(bytes: 1, of: ada, in: container)
            await #expect(throws: Notebook.Failure.storageFull) { try await phone.1.write(Note(id: "n", text: "one")) }
            try await cloud.removeFaults()
            try await phone.1.write(Note(id: "n", text: "one"))
            try await phone.0.signOut()
            await #expect(throws: Notebook.Failure.signedOut) { try await phone.1.write(Note(id: "m", text: "two")) }
            try await laptop.0.revoke()
            await #expect(throws: Notebook.Failure.signedOut) { try await laptop.1.write(Note(id: "m", text: "two")) }
        }
    }

    @Test func `lost keys cost no note that a device still has`() async throws {
        try await withTwoDevices { cloud, ada, phone, laptop in
            try await phone.1.write(Note(id: "n", text: "one"))
            try await cloud.loseKeys(ofZone: "Notes", of: ada, in: container)
            try await phone.1.sync()
            try await laptop.1.sync()
            #expect(await laptop.1.notes.values.map(\.text) == ["one"])
        }
    }
}
