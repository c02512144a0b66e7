import CloudUnderTest
import Foundation
import OrderedStore
import OrderedStoreSQLite
import PostgresServer
import Testing

@testable import CloudKit

/// `welkin upgrade`, and what programs say to stores of other formats.
@Suite(.timeLimit(.minutes(20))) struct UpgradeCommandTests {
    private static let key: [UInt8] = [0x62]

    /// Gives a store rows of another format; nil: it names none, as those from before formats were named.
    private func setFormat(_ number: UInt8?, of store: any PersistentStore) async throws {
        try await store.write(Partition("format")) { transaction in
            if let number {
                transaction.set(Self.key, [number, 0, 0, 0, 1, 0])
            } else {
                transaction.clear(Self.key)
            }
        }
        await store.close()
    }

    private func refusal(of cloud: CloudProcess) -> String {
        do {
            try cloud.restart()
            return ""
        } catch {
            return (error as? ChildFailure)?.reason ?? "\(error)"
        }
    }

    private func save(_ name: String, in database: CKDatabase) async throws {
        try await database.save(CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name)))
    }

    @Test func `a store of an earlier format is refused, backed up and upgraded, and its people go on`() async throws {
        try await CloudAndMachines.run { setup in
            let cloud = setup.cloud
            let ada = try await setup.signedInMachine("ada")
            let database = try ada.app().privateCloudDatabase
            try await save("A", in: database)
            let none = try await setup.runAsOperator("upgrade")
            #expect(none.status == 0 && none.output.contains("nothing to do"), "\(none.remarks)")
            cloud.stop()
            try await setFormat(nil, of: SQLiteStore(path: cloud.data + "/welkin.sqlite"))
            #expect(refusal(of: cloud).contains("stop the cloud and run: welkin upgrade"))
            let list = try await setup.runAsOperator("account", "list")
            #expect(list.status == 1 && list.remarks.contains("an earlier version of Welkin wrote the rows"))
            let dry = try await setup.runAsOperator("upgrade", "--dry-run")
            #expect(dry.status == 0 && dry.output.contains("rows of format 1"), "\(dry.remarks)")
            #expect(dry.output.contains("1 rows to read, 0 to write"), "\(dry.output)")
            let unnamed = try await setup.runAsOperator("upgrade")
            #expect(unnamed.status == 1 && unnamed.remarks.contains("--backup"), "\(unnamed.remarks)")
            #expect(refusal(of: cloud).contains("welkin upgrade"))

            let backup = cloud.folder + "/backup"
            let upgraded = try await setup.runAsOperator("upgrade", "--backup", backup)
            #expect(upgraded.status == 0 && upgraded.output.contains("upgraded to format 2"), "\(upgraded.remarks)")
            let again = try await setup.runAsOperator("upgrade", "--backup", backup)
            #expect(again.output.contains("nothing to do"))
            let checked = try await setup.runAsOperator("check")
            #expect(checked.status == 0, "\(checked.output)")
            try cloud.restart()
            try await save("B", in: database)

            // The backup is of the earlier format; what is restored from it is upgraded.
            cloud.kill()
            try FileManager.default.removeItem(atPath: cloud.data)
            let machine = setup.operatorsMachine
            let restored = try await Machine.run(
                [try #require(CloudProcess.program()), "restore", backup, "--data", cloud.data],
                variables: machine.variables, in: machine.home)
            #expect(restored.status == 0, "\(restored.remarks)")
            try cloud.restart()
            let held = try await database.record(for: CKRecord.ID(recordName: "A"))
            #expect(held.recordType == "Note")
        }
    }

    @Test func `rows of a later version are refused by every command, with what to do`() async throws {
        try await CloudAndMachines.run { setup in
            let cloud = setup.cloud
            _ = try await setup.signedInMachine("ada")
            cloud.stop()
            try await setFormat(99, of: SQLiteStore(path: cloud.data + "/welkin.sqlite"))
            #expect(refusal(of: cloud).contains("a newer version of Welkin wrote the rows of the store"))
            for words in [["account", "list"], ["check"], ["upgrade"], ["upgrade", "--dry-run"]] {
                let refused = try await setup.runAsOperator(words)
                #expect(refused.status == 1, "\(words)")
                #expect(refused.remarks.contains("restore the backup that was taken before the upgrade"), "\(words)")
            }
        }
    }

    @Test func `a store is not upgraded while a cloud runs on it`() async throws {
        try await CloudAndMachines.run { setup in
            _ = try await setup.signedInMachine("ada")
            try await setFormat(nil, of: SQLiteStore(path: setup.cloud.data + "/welkin.sqlite"))
            let refused = try await setup.runAsOperator("upgrade", "--no-backup")
            #expect(refused.status == 1 && refused.remarks.contains("stop it first"), "\(refused.remarks)")
        }
    }

    @Test(.enabled(if: PostgresServer.missing == nil, "PostgreSQL is not installed"))
    func `a store in a database is upgraded once its nodes have stopped`() async throws {
        let schema = PostgresServer.freshSchema()
        let address = try await PostgresServer.shared().address(schema: schema)
        try await CloudAndMachines.run(store: address) { setup in
            let ada = try await setup.signedInMachine("ada")
            let database = try ada.app().privateCloudDatabase
            try await save("A", in: database)
            try await setFormat(nil, of: StoreUnderTest.postgres(schema: schema))
            let running = try await setup.runAsOperator("upgrade", "--no-backup")
            #expect(running.status == 1 && running.remarks.contains("stop all of its nodes"), "\(running.remarks)")
            setup.cloud.kill()
            #expect(refusal(of: setup.cloud).contains("welkin upgrade"))
            let bare = try await setup.runAsOperator("upgrade")
            #expect(bare.status == 1 && bare.remarks.contains("--no-backup"), "\(bare.remarks)")
            let upgraded = try await setup.runAsOperator("upgrade", "--no-backup")
            #expect(upgraded.status == 0 && upgraded.output.contains("upgraded to format 2"), "\(upgraded.remarks)")
            try setup.cloud.restart()
            try await save("B", in: database)
        }
    }
}
