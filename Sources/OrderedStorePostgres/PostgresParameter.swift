import OrderedStore

/// A parameter of a statement.
enum PostgresParameter {
    case bytes(Bytes)
    case integer(Int64)
    case text(String)
    case byteArrays(ArraySlice<Bytes>)

    /// Appends the binary form in which it is sent.
    func append(to buffer: inout Bytes) {
        switch self {
        case .bytes(let bytes): buffer += bytes
        case .integer(let number): buffer += number.bigEndianBytes
        case .text(let text): buffer += Bytes(text.utf8)
        case .byteArrays(let arrays):
            // One dimension, no NULL, elements of type bytea, numbered from 1.
            for number in [1, 0, PostgresType.bytes.rawValue, UInt32(arrays.count), 1] as [UInt32] {
                buffer += number.bigEndianBytes
            }
            for array in arrays {
                buffer += UInt32(array.count).bigEndianBytes
                buffer += array
            }
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
