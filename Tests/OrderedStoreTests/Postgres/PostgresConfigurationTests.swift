import OrderedStore
import PostgresServer
import Testing

@testable import OrderedStorePostgres

@Suite("Addresses of databases", .timeLimit(.minutes(20)))
struct PostgresConfigurationTests {
    @Test func `an address has libpq's parameters and our own`() throws {
        let configuration = try PostgresConfiguration(
            "postgres://ada:p%40ss@db.example.com:5433/cloud?schema=mine&prepared=no&connect_timeout=3")
        #expect(configuration.schema == "mine")
        #expect(!configuration.preparesStatements)
        #expect(configuration.parameters["host"] == "db.example.com")
        #expect(configuration.parameters["port"] == "5433")
        #expect(configuration.parameters["dbname"] == "cloud")
        #expect(configuration.parameters["password"] == "p@ss")
        #expect(configuration.parameters["connect_timeout"] == "3")
        #expect(configuration.parameters["target_session_attrs"] == "read-write")
    }

    @Test func `TLS with verification is the default for servers elsewhere`() throws {
        #expect(try mode("postgres://db.example.com/c") == "verify-full")
        #expect(try mode("postgres://127.0.0.1/c") == nil)
        #expect(try mode("postgres:///c?host=/run/postgresql") == nil)
        #expect(try mode("postgres://127.0.0.1,b.example.com/c") == "verify-full")
        #expect(try mode("postgres://db.example.com/c?sslmode=require") == "require")
    }

    private func mode(_ address: String) throws -> String? {
        try PostgresConfiguration(address).parameters["sslmode"]
    }

    @Test func `no text holds the password`() throws {
        let configuration = try PostgresConfiguration("postgres://ada:hidden@db.example.com/cloud")
        #expect(!configuration.description.contains("hidden"))
        #expect(configuration.details.values.allSatisfy { !$0.contains("hidden") })
        for address in [
            "postgres://ada:hid%zen@db/cloud", "postgres://ada:hidden@db/cloud?colour=red",
            "postgres://ada:hidden@[::/x", "postgres://ada:hidden@db/cloud?schema=Not a name", "http://ada:hidden@db",
            "postgres://ada:hidden@db?prepared=1",
        ] {
            do throws(StoreError) {
                _ = try PostgresConfiguration(address)
                Issue.record("read: \(address)")
            } catch {
                #expect(!String(describing: error).contains("hid"), "\(error)")
            }
        }
    }

    @Test(
        arguments: [
            ("postgres://ada:x@db/c", true), ("postgres://ada@db/c", false), ("postgres://ada@db/c?password=x", true),
            ("postgres:///c", false),
        ])
    func `an address says whether it holds a password`(address: String, holds: Bool) {
        #expect(PostgresConfiguration.holdsPassword(address) == holds)
    }

    @Test func `an unknown parameter is named`() {
        do throws(StoreError) {
            _ = try PostgresConfiguration("postgres://db/c?sslmod=require")
            Issue.record("read")
        } catch {
            #expect(error.details["parameter"] == "sslmod")
        }
    }

    @Test func `messages between processes name partitions, whatever their names`() {
        let partitions = ["a", "b\nc", "%0A", "", "ü\0"].map { Partition($0) }
        let texts = HintMessage.texts(of: partitions, from: "me")
        #expect(texts.count == 1)
        #expect(HintMessage(texts[0])?.partitions == partitions)
        #expect(HintMessage(texts[0])?.sender == "me")
        #expect(HintMessage.texts(of: [], from: "me").isEmpty)
        #expect(HintMessage("alone") == nil)
    }

    @Test func `messages between processes stay below the limit of the server`() {
        let partitions = (0..<1000).map { Partition("private/iCloud.com.example.app/production/_\($0)") }
        let texts = HintMessage.texts(of: partitions, from: "me")
        #expect(texts.count > 1)
        #expect(texts.allSatisfy { $0.utf8.count < 8000 })
        #expect(texts.compactMap { HintMessage($0) }.flatMap(\.partitions) == partitions)
    }

    @Test(
        .enabled(if: PostgresServer.missing == nil, "PostgreSQL is not installed"),
        arguments: [
            "sslmode=never", "target_session_attrs=leader",
        ])
    func `a value that libpq does not know is named, and is not taken for a server that is away`(
        _ parameter: String
    ) async throws {
        let options = PostgresStore.Options(
            try PostgresConfiguration("postgres://127.0.0.1:1/cloud?\(parameter)"), wallClock: { 0 })
        do {
            await (try await PostgresStore.open(options)).close()
            Issue.record("opened")
        } catch let error as StoreError {
            #expect(error.reason.contains("has a value that libpq does not know"), "\(error)")
            #expect(String(describing: error).contains(parameter.prefix { $0 != "=" }), "\(error)")
        }
    }
}
