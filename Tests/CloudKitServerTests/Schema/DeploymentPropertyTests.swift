import CloudKitModel
import CloudKitSchema
import Foundation
import OrderedStore
import RandomSchemas
import SeededChance
import Testing

@testable import CloudKitServer

/// Random pairs of schemas: what the report calls safe is accepted by a deployment and changes no answer of production.
///
/// `WELKIN_SCHEMA_PAIRS` sets the number of pairs, `WELKIN_SCHEMA_SEED` the seed; `script/schema-pairs` runs many, with one seed after
/// another.
@Suite(.timeLimit(.minutes(20))) struct DeploymentPropertyTests {
    private static let pairs = variable("WELKIN_SCHEMA_PAIRS") ?? 150
    private static let seed = variable("WELKIN_SCHEMA_SEED") ?? 1

    private static func variable(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    @Test func `B-SCH-04 safe deployments are accepted and change no answer`() async throws {
        var safe = 0
        var refused = 0
        for pair in 0..<Self.pairs {
            var chance = SplitMix64(seed: Self.seed &* 1_000_003 &+ pair)
            let first = RandomSchema.document(&chance)
            let second = RandomSchema.successor(of: first, &chance)
            let test = try TestCloud(store: MemoryStore(epoch: 7))
            try await ImportSchema(test.cloud).run(first.text, in: TestCloud.container)
            try await DeploySchema(test.cloud).run(of: TestCloud.container, force: true)
            try await fill(test, first, &chance)
            let before = try await answers(test, first)
            do {
                try await ImportSchema(test.cloud).run(second.text, in: TestCloud.container)
            } catch let failure as RequestFailure {
                #expect(failure.code == .schemaMismatch, "pair \(pair)")
                refused += 1
                continue
            }
            let report = try await DeploySchema(test.cloud).report(on: TestCloud.container)
            guard report.isSafe else {
                await expect(.schemaMismatch) { try await DeploySchema(test.cloud).run(of: TestCloud.container) }
                let after = try await answers(test, first)
                #expect(after == before, "a refused deployment changed something, pair \(pair)")
                continue
            }
            safe += 1
            try await DeploySchema(test.cloud).run(of: TestCloud.container)
            let after = try await answers(test, first)
            for (request, answer) in before {
                #expect(after[request] == answer, "\(request), pair \(pair), seed \(Self.seed)")
            }
            let production = try await test.cloud.schema(TestCloud.container, .production).document
            #expect(production == report.result, "pair \(pair)")
        }
        if Self.variable("WELKIN_SCHEMA_PAIRS") != nil {
            print("schema pairs: \(Self.pairs) of seed \(Self.seed), \(safe) safe, \(refused) refused imports")
        }
        // A workload without either would show nothing.
        if Self.pairs >= 100 { #expect(safe > 10 && refused > 0, "\(safe) safe, \(refused) refused") }
    }

    /// Saves a few records of every type in production's public and private databases.
    private func fill(
        _ test: TestCloud, _ document: SchemaDocument, _ chance: inout SplitMix64
    ) async throws {
        var operations: [RecordOperation] = []
        for type in document.types.values.sorted(by: { $0.name < $1.name }) {
            for number in 0..<3 {
                let fields = type.fields.sorted { $0.key < $1.key }.compactMap { name, field -> FieldChange? in
                    guard Bool.random(using: &chance) else { return nil }
                    switch field.type {
                    case .string: return text(name, "t\(number)")
                    case .int64: return self.number(name, number)
                    default: return nil
                    }
                }
                let change = RecordChange(recordName: "\(type.name)\(number)", recordType: type.name, fields: fields)
                operations.append(RecordOperation(.create, change))
            }
        }
        guard !operations.isEmpty else { return }
        for scope in [DatabaseScope.private, .public] {
            try await test.modify(operations, zone: "_defaultZone", in: scope, .production)
        }
    }

    private func number(_ name: String, _ number: Int) -> FieldChange {
        .set(Field(name: name, type: .int64, json: Array(String(number).utf8)))
    }

    /// The answers of production that are no refusals, by request.
    private func answers(_ test: TestCloud, _ document: SchemaDocument) async throws -> [String: [String]] {
        var answers: [String: [String]] = [:]
        // Of the private databases that of the user who saved has something to say.
        let callers: [(caller: Caller, scopes: [DatabaseScope])] = [
            (Caller(user: TestCloud.ada), [.private, .public]), (Caller(user: TestCloud.bob), [.public]),
            (.anonymous, [.public]),
        ]
        for type in document.types.values {
            for query in queries(of: type) {
                for (index, (caller, scopes)) in callers.enumerated() {
                    for scope in scopes {
                        let request = QueryRecordsRequest(query: query, zoneID: nil)
                        let page = try? await QueryRecords(test.cloud).run(
                            request, in: TestCloud.address(scope, .production), by: caller)
                        guard let page else { continue }
                        answers["\(QueryShape(query).shown) by \(index) in \(scope)"] = page.records.map(
                            \.id.recordName)
                    }
                }
            }
        }
        return answers
    }

    private func queries(of type: RecordTypeDefinition) -> [Query] {
        var queries = [Query(recordType: type.name)]
        for (name, field) in type.fields {
            let value: FieldValue = field.type.base == .int64 ? .int64(1) : .string("t1")
            queries.append(
                Query(
                    recordType: type.name,
                    filters: [QueryFilter(key: .field(name), comparator: .equals, value: value)]))
            queries.append(
                Query(
                    recordType: type.name,
                    filters: [QueryFilter(key: .field(name), comparator: .containsAnyTokens, value: .string("t1"))]))
            queries.append(Query(recordType: type.name, sorts: [QuerySort(key: .field(name))]))
        }
        for field in [QueryKey.SystemField.recordName, .createdTimestamp] {
            queries.append(Query(recordType: type.name, sorts: [QuerySort(key: .system(field))]))
        }
        return queries
    }
}
