import CloudKitModel

extension SchemaDocument {
    /// Parses a text in the CloudKit schema language (docs/schema.md).
    ///
    /// - Parameters:
    ///   - text: At most 1 MB.
    ///   - fieldsMax: Fields of one record type (B-LIM-06).
    /// - Throws: The first fault, with its line and column and the tokens that were expected.
    package init(parsing text: String, fieldsMax: Int = 256) throws(SchemaSyntaxError) {
        guard text.utf8.count <= Self.textBytesMax else {
            throw SchemaSyntaxError(line: 1, column: 1, message: "the schema is longer than \(Self.textBytesMax) bytes")
        }
        var parser = try SchemaParser(text, fieldsMax: fieldsMax)
        self = try parser.parse()
    }

    /// Bytes of a schema's text.
    package static let textBytesMax = 1_048_576
    /// Record types of a schema.
    static let typesMax = 1000
    /// Custom roles of a schema.
    static let rolesMax = 100
}

/// Reads a schema by its grammar: one token decides what follows.
struct SchemaParser {
    private var lexer: SchemaLexer
    private var token: SchemaToken
    private let fieldsMax: Int
    private var document = SchemaDocument()
    /// The custom roles that grants name, each with its first place: declarations may come later.
    private var grantedRoles: [(token: SchemaToken, role: String)] = []

    init(_ text: String, fieldsMax: Int) throws(SchemaSyntaxError) {
        lexer = SchemaLexer(text)
        token = try lexer.next()
        self.fieldsMax = fieldsMax
    }

    mutating func parse() throws(SchemaSyntaxError) -> SchemaDocument {
        try take(keyword: "DEFINE")
        try take(keyword: "SCHEMA")
        while token.kind != .end {
            switch token.keyword {
            case "CREATE": try parseRole()
            case "RECORD": try parseType()
            default: throw token.expected("CREATE ROLE, RECORD TYPE or the end")
            }
            try take(sign: ";")
        }
        for (token, role) in grantedRoles where !document.roles.contains(role) {
            throw token.fault("the role \(role) is not declared, expected CREATE ROLE \(role); or a system role")
        }
        return document
    }

    // MARK: Tokens

    private mutating func advance() throws(SchemaSyntaxError) { token = try lexer.next() }

    private mutating func take(keyword: String) throws(SchemaSyntaxError) {
        guard token.keyword == keyword else { throw token.expected(keyword) }
        try advance()
    }

    private mutating func take(sign: Character, or others: String = "") throws(SchemaSyntaxError) {
        guard token.kind == .sign(sign) else { throw token.expected("'\(sign)'" + others) }
        try advance()
    }

    /// Takes a name, in quotes or without.
    private mutating func takeName(_ expected: String) throws(SchemaSyntaxError) -> (SchemaToken, String) {
        let start = token
        switch token.kind {
        case .quoted(let name):
            try advance()
            return (start, name)
        case .word(let name):
            if name.hasPrefix("_") { throw token.fault("met \(token.shown), expected \"\(name)\" in quotes") }
            if SchemaWords.reserved.contains(name.lowercased()) {
                throw token.fault("met the reserved word \(token.shown), expected \(expected) or \"\(name)\" in quotes")
            }
            try advance()
            return (start, name)
        case .sign, .end: throw token.expected(expected)
        }
    }

    // MARK: Declarations

    private mutating func parseRole() throws(SchemaSyntaxError) {
        try take(keyword: "CREATE")
        try take(keyword: "ROLE")
        let (start, name) = try takeName("the name of a role")
        guard SchemaWords.isPlainName(name) else {
            throw start.fault("\(start.shown) is no name for a role, expected a letter, then letters, digits and _")
        }
        guard document.roles.insert(name).inserted else { throw start.fault("the role \(name) is declared twice") }
        guard document.roles.count <= SchemaDocument.rolesMax else {
            throw start.fault("a schema has at most \(SchemaDocument.rolesMax) roles")
        }
    }

    private mutating func parseType() throws(SchemaSyntaxError) {
        try take(keyword: "RECORD")
        try take(keyword: "TYPE")
        let (start, name) = try takeName("the name of a record type")
        guard (try? Validity.recordType(name)) != nil else {
            throw start.fault(
                "\(start.shown) is no name for a record type, expected a letter, then letters, digits and _")
        }
        guard document.types[name] == nil else { throw start.fault("the record type \(name) is declared twice") }
        guard document.types.count < SchemaDocument.typesMax else {
            throw start.fault("a schema has at most \(SchemaDocument.typesMax) record types")
        }
        var type = RecordTypeDefinition(name: name, grants: [])
        try take(sign: "(")
        if token.kind == .sign(")") {
            try advance()
        } else {
            try parseItems(of: &type)
        }
        document.types[name] = type
    }

    private mutating func parseItems(of type: inout RecordTypeDefinition) throws(SchemaSyntaxError) {
        var systemFields: Set<SystemFieldName> = []
        while true {
            if token.keyword == "GRANT" {
                try parseGrant(of: &type)
            } else {
                try parseField(of: &type, &systemFields)
            }
            if token.kind == .sign(")") { return try advance() }
            guard token.kind == .sign(",") else { throw token.expected("',' or ')'") }
            try advance()
        }
    }

    // MARK: Grants

    private mutating func parseGrant(of type: inout RecordTypeDefinition) throws(SchemaSyntaxError) {
        try take(keyword: "GRANT")
        var privileges: Set<Grant.Privilege> = []
        while true {
            guard let word = token.keyword, let privilege = Grant.Privilege(rawValue: word) else {
                throw token.expected("READ, CREATE or WRITE")
            }
            privileges.insert(privilege)
            try advance()
            guard token.kind == .sign(",") else { break }
            try advance()
        }
        try take(keyword: "TO")
        let (start, role) = try takeName("the name of a role")
        if !Grant.systemRoles.contains(role) {
            guard SchemaWords.isPlainName(role) else {
                throw start.fault("\(start.shown) is no role, expected _world, _icloud, _creator or a declared role")
            }
            grantedRoles.append((start, role))
        }
        type.grants.formUnion(privileges.map { Grant($0, to: role) })
    }

    // MARK: Fields

    private mutating func parseField(
        of type: inout RecordTypeDefinition, _ systemFields: inout Set<SystemFieldName>
    ) throws(SchemaSyntaxError) {
        let (start, name) = try takeName("the name of a field or GRANT")
        guard name.hasPrefix("_") else { return try parseOwnField(name, start, of: &type) }
        guard let system = SystemFieldName(name) else {
            throw start.fault(
                "\(start.shown) is no system field, expected one of \(SystemFieldName.allNames.joined(separator: ", "))"
            )
        }
        guard systemFields.insert(system).inserted else { throw start.fault("the field \(start.shown) occurs twice") }
        let typeToken = token
        let held = try parseDataType()
        guard held == system.type else {
            throw typeToken.fault("the type of \(start.shown) is \(system.type.schemaWord)")
        }
        let indexes = try parseOptions(of: system.type, max: system.field?.indexesMax ?? [], named: start.shown)
        if let field = system.field, !indexes.isEmpty { type.systemIndexes[field] = indexes }
    }

    private mutating func parseOwnField(
        _ name: String, _ start: SchemaToken, of type: inout RecordTypeDefinition
    ) throws(SchemaSyntaxError) {
        do throws(RequestFailure) {
            try Validity.fieldName(name, ofType: type.name)
        } catch {
            throw start.fault("\(start.shown) is no name for a field: \(error.reason)")
        }
        guard type.fields[name] == nil else { throw start.fault("the field \(start.shown) occurs twice") }
        guard type.fields.count < fieldsMax else {
            throw start.fault("a record type has at most \(fieldsMax) fields")
        }
        let held = try parseDataType()
        let indexes = try parseOptions(of: held, max: held.indexesMax, named: held.schemaWord)
        type.fields[name] = FieldDefinition(type: held, indexes: indexes)
    }

    private mutating func parseOptions(
        of type: FieldType, max: FieldIndexes, named name: String
    ) throws(SchemaSyntaxError) -> FieldIndexes {
        var indexes: FieldIndexes = []
        while let word = token.keyword, let index = SchemaWords.options[word] {
            if max.contains(index) {
                indexes.insert(index)
            } else if !Self.isIdle(index, on: type) {
                throw token.fault("\(name) cannot be \(word), expected \(Self.allowed(max))',' or ')'")
            }
            try advance()
        }
        return indexes
    }

    /// Whether an option is accepted without effect: exports of Apple's service have it on fields that no query can use.
    private static func isIdle(_ index: FieldIndexes, on type: FieldType) -> Bool {
        type == .bytes && index != .searchable
    }

    private static func allowed(_ max: FieldIndexes) -> String {
        max.words.map { $0 + ", " }.joined()
    }

    private mutating func parseDataType() throws(SchemaSyntaxError) -> FieldType {
        guard token.keyword == "LIST" else { return try parsePrimitive(orList: true) }
        try advance()
        try take(sign: "<")
        let element = try parsePrimitive(orList: false)
        try take(sign: ">")
        return element.list
    }

    private mutating func parsePrimitive(orList: Bool) throws(SchemaSyntaxError) -> FieldType {
        let isEncrypted = token.keyword == "ENCRYPTED"
        if isEncrypted { try advance() }
        guard let word = token.keyword else { throw token.expected(Self.typeWords(orList, isEncrypted)) }
        if word == "NUMBER", !isEncrypted {
            try advance()
            return try parsePreference()
        }
        guard let base = SchemaWords.types[word], !isEncrypted || SchemaWords.encryptable.contains(base) else {
            throw token.expected(Self.typeWords(orList, isEncrypted))
        }
        try advance()
        return FieldType(base, isEncrypted: isEncrypted)
    }

    /// `NUMBER` holds any number, so that it is a double unless the schema prefers whole numbers.
    private mutating func parsePreference() throws(SchemaSyntaxError) -> FieldType {
        guard token.keyword == "PREFERRED" else { return .double }
        try advance()
        try take(keyword: "AS")
        switch token.keyword {
        case "INT64":
            try advance()
            return .int64
        case "DOUBLE":
            try advance()
            return .double
        default: throw token.expected("INT64 or DOUBLE")
        }
    }

    private static func typeWords(_ orList: Bool, _ isEncrypted: Bool) -> String {
        let words = SchemaWords.types.filter { !isEncrypted || SchemaWords.encryptable.contains($0.value) }.keys
            .sorted()
        let others = isEncrypted ? [] : ["ENCRYPTED", "NUMBER"] + (orList ? ["LIST<…>"] : [])
        return "a type: " + (words + others).joined(separator: ", ")
    }
}
