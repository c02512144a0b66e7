import CloudKitModel

/// The effects of deploying development's schema to production, found before anything is changed.
package struct DeploymentReport: Hashable, Sendable {
    /// One effect, or one request that production refuses.
    package struct Finding: Hashable, Sendable {
        /// The weight of a finding.
        package enum Kind: String, Hashable, Sendable, CaseIterable {
            /// Production cannot be changed so: the deployment is refused.
            case conflict
            /// Apps could notice: the deployment needs the operator's word.
            case risk
            /// A query of development found no index; production refuses it too.
            case missingIndex
            /// Production refuses the request until the deployment.
            case pending
        }

        /// The weight of the finding.
        package var kind: Kind
        /// The finding in one sentence.
        package var text: String

        /// Creates a value with the given properties.
        package init(_ kind: Kind, _ text: String) {
            self.kind = kind
            self.text = text
        }
    }

    /// The schema of production after the deployment.
    package let result: SchemaDocument
    /// The changes that the deployment makes in production.
    package let changes: [SchemaChange]
    /// The effects, the gravest first.
    package let findings: [Finding]

    /// Whether production cannot be changed so.
    package var isRefused: Bool { findings.contains { $0.kind == .conflict } }
    /// Whether the deployment needs no operator's word: every request that production serves, it serves with the same answer
    /// afterwards.
    package var isSafe: Bool { !findings.contains { $0.kind == .conflict || $0.kind == .risk } }

    /// - Parameters:
    ///   - development: The schema to deploy.
    ///   - production: The schema that production has.
    ///   - served: The requests that development has served.
    ///   - inProduction: The requests that production has served.
    ///   - fieldsMax: Fields of one record type (B-LIM-06).
    package init(
        of development: SchemaDocument, to production: SchemaDocument, served: ServedRequests = ServedRequests(),
        inProduction: ServedRequests = ServedRequests(), fieldsMax: Int = 256
    ) {
        result = development.deployed(to: production)
        changes = result.changes(from: production)
        var findings = Self.conflicts(of: development, with: production)
        findings += result.types.values.filter { $0.fields.count > fieldsMax }.map {
            Finding(.conflict, "record type \($0.name) would have more than \(fieldsMax) fields")
        }
        findings += changes.compactMap { Self.risk(of: $0) }
        let asked = served.queries.union(inProduction.queries)
        for query in asked where query.isAnswered(by: production) && !query.isAnswered(by: result) {
            findings.append(Finding(.risk, "\(query.shown) is served and would be refused"))
        }
        for query in served.queries where !query.isAnswered(by: production) {
            findings.append(Self.finding(on: query, result))
        }
        for save in served.saves where !save.isAccepted(by: production) {
            findings.append(
                save.isAccepted(by: result)
                    ? Finding(.pending, "\(save.shown) is refused by production until the deployment")
                    : Finding(.risk, "\(save.shown) was served by development and would be refused by production"))
        }
        self.findings = Set(findings).sorted {
            ($0.kind.weight, $0.text) < ($1.kind.weight, $1.text)
        }
    }

    private static func conflicts(of development: SchemaDocument, with production: SchemaDocument) -> [Finding] {
        development.changes(from: production).compactMap { change in
            guard case .changeType(let name, let type, let from, let to) = change else { return nil }
            return Finding(
                .conflict,
                "field \(type).\(name) is \(from.schemaWord) in production and cannot become \(to.schemaWord): "
                    + "stored records would become unreadable")
        }
    }

    private static func risk(of change: SchemaChange) -> Finding? {
        switch change {
        case .changeIndexes(let name, let type, let from, let to):
            let dropped = from.subtracting(to)
            if dropped.isEmpty { return nil }
            return Finding(
                .risk,
                "field \(type).\(name) loses the index \(dropped.words.joined(separator: " ")): queries that use it "
                    + "would be refused")
        case .addGrant(let grant, let type):
            return Finding(.risk, "\(grant.role) gains \(grant.privilege.rawValue) on public records of \(type)")
        case .removeGrant(let grant, let type):
            return Finding(.risk, "\(grant.role) loses \(grant.privilege.rawValue) on public records of \(type)")
        case .addRole, .removeRole, .addType, .removeType, .addField, .removeField, .changeType: return nil
        }
    }

    private static func finding(on query: QueryShape, _ result: SchemaDocument) -> Finding {
        guard let type = result[query.recordType] else {
            return Finding(.missingIndex, "\(query.shown) asks for a record type that development no longer has")
        }
        let missing = query.missingIndexes(in: type)
        if missing.isEmpty { return Finding(.pending, "\(query.shown) is refused by production until the deployment") }
        let words = missing.map { "\($0.field) \($0.index.words.joined(separator: " "))" }
        return Finding(.missingIndex, "\(query.shown) is refused; missing index: \(words.joined(separator: ", "))")
    }
}

extension DeploymentReport.Finding.Kind {
    fileprivate var weight: Int {
        switch self {
        case .conflict: 0
        case .risk: 1
        case .missingIndex: 2
        case .pending: 3
        }
    }
}
