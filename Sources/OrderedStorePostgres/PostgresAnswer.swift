import CPostgres
import OrderedStore

/// The rows that a statement returned, in binary form.
struct PostgresAnswer: ~Copyable {
    private let result: OpaquePointer

    init(_ result: OpaquePointer) { self.result = result }

    deinit { PQclear(result) }

    /// The status of the statement.
    var status: ExecStatusType { PQresultStatus(result) }

    /// The SQLSTATE of an error; empty if the server sent none.
    var sqlState: String {
        PQresultErrorField(result, 0x43).map { String(cString: $0) } ?? ""
    }

    /// The name of the command that ran, such as "COMMIT".
    var command: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

    /// The number of rows.
    var rowCount: Int { Int(PQntuples(result)) }

    /// Returns a value; empty for NULL.
    func bytes(_ row: Int, _ column: Int) -> Bytes {
        guard let value = PQgetvalue(result, CInt(row), CInt(column)) else { return [] }
        let count = Int(PQgetlength(result, CInt(row), CInt(column)))
        return Bytes(UnsafeRawBufferPointer(start: value, count: count))
    }

    /// Returns a number of eight bytes; nil if the value is none.
    func integer(_ row: Int, _ column: Int) -> Int64? {
        guard let value = PQgetvalue(result, CInt(row), CInt(column)), PQgetlength(result, CInt(row), CInt(column)) == 8
        else { return nil }
        return Int64(bigEndian: UnsafeRawPointer(value).loadUnaligned(as: Int64.self))
    }
}
