import OrderedStore

/// A parameter of a statement.
enum PostgresParameter {
    case bytes(Bytes)
    case integer(Int64)
    case text(String)

    /// Appends the binary form in which it is sent.
    func append(to buffer: inout Bytes) {
        switch self {
        case .bytes(let bytes): buffer += bytes
        case .integer(let number): buffer += number.bigEndianBytes
        case .text(let text): buffer += Bytes(text.utf8)
        }
    }
}

/// A statement with its parameters.
struct PostgresRequest {
    let statement: PostgresStatement
    let parameters: [PostgresParameter]

    init(_ statement: PostgresStatement, _ parameters: PostgresParameter...) {
        self.init(statement, parameters: parameters)
    }

    init(_ statement: PostgresStatement, parameters: [PostgresParameter]) {
        self.statement = statement
        self.parameters = parameters
    }
}
