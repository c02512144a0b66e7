import CloudKit
import CloudKitTesting
import CloudUnderTest
import Testing

/// Tests of long-lived operations in an app process that is killed.
@Suite(.timeLimit(.minutes(20))) struct LongLivedProcessTests {
    private static let container = "iCloud.com.example.longlived"

    /// Runs the app once on a device.
    ///
    /// - Returns: The exit status, nil if the app was killed, and its output.
    private func runApp(_ arguments: [String], on device: TestDevice) async throws -> (status: Int32?, lines: [String])
    {
        let (status, text) = try await ChildProcess.run(
            program: "long-lived-app", arguments,
            variables: try await device.environmentVariables(for: Self.container))
        return (status, text.split(separator: "\n").map(String.init))
    }

    private func operationID(_ lines: [String]) throws -> String {
        try #require(lines.first { $0.hasPrefix("persisted ") }?.split(separator: " ").last.map(String.init))
    }

    @Test func `B-OPS-06 a save whose process is killed before sending is sent once by the next process`() async throws
    {
        try await TestCloud.run { cloud in
            let device = try await cloud.user().device()
            let database = try await device.container(Self.container).privateCloudDatabase
            let first = try await runApp(["save", "persisted", "n"], on: device)
            #expect(first.status == nil)
            let id = try operationID(first.lines)
            await #expect(throws: CKError.self) { _ = try await database.record(for: .init(recordName: "n")) }

            let second = try await runApp(["resume"], on: device)
            let record = try await database.record(for: .init(recordName: "n"))
            #expect(second.status == 0)
            #expect(second.lines == ["found \(id)", "saved n \(record.recordChangeTag ?? "")", "left "])
            #expect(record["text"] as? String == "from the first life")
            #expect(record.encryptedValues["secret"] as? String == "sealed in the first life")
            #expect(try await runApp(["resume"], on: device).lines == ["found ", "left "])
        }
    }

    @Test func `B-OPS-06 an answer received by a killed process is returned to the next one without a request`()
        async throws
    {
        try await TestCloud.run { cloud in
            let device = try await cloud.user().device()
            let database = try await device.container(Self.container).privateCloudDatabase
            let first = try await runApp(["save", "answered", "n"], on: device)
            #expect(first.status == nil && first.lines.last == "answered n")
            let id = try operationID(first.lines)
            let tag = try await database.record(for: .init(recordName: "n")).recordChangeTag
            await cloud.stopServer()
            let second = try await runApp(["resume"], on: device)
            #expect(second.lines == ["found \(id)", "saved n \(tag ?? "")", "left "])
        }
    }

    @Test func `B-OPS-06 an operation belongs to its user: another user of the device does not find it`() async throws {
        try await TestCloud.run { cloud in
            let ada = try await cloud.user("ada")
            let device = try await ada.device()
            let id = try operationID(try await runApp(["save", "persisted", "n"], on: device).lines)
            try await device.signIn(as: cloud.user("bob"))
            #expect(try await runApp(["resume"], on: device).lines == ["found ", "left "])
            try await device.signIn(as: ada)
            #expect(try await runApp(["resume"], on: device).lines.first == "found \(id)")
        }
    }
}
