import CPostgres
import OrderedStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The database of a store and the way to it, read from `postgres://user:password@host:port/database?sslmode=verify-full`.
///
/// libpq reads the address, so all of its parameters are allowed, and those that are missing come from its environment variables
/// (`PGPASSWORD`, `PGSSLROOTCERT`, `PGPASSFILE` …). Besides them the query may have `schema` and `prepared`.
package struct PostgresConfiguration: Sendable {
    /// The parameters of the connection, in libpq's words.
    let parameters: [String: String]
    /// The parameters of connections to each of the hosts.
    let hosts: [[String: String]]
    /// The host that took a connection last.
    let preferredHost = PreferredHost()
    /// The schema of the store's tables.
    package let schema: String
    /// Whether statements are prepared once for each connection: not behind a proxy that shares connections between transactions.
    package let preparesStatements: Bool

    /// Reads an address.
    ///
    /// - Throws: `unavailable` with the part that cannot be read. The error never holds the password.
    package init(_ address: String) throws(StoreError) {
        guard Self.isAddress(address) else { throw .unreadableAddress }
        let parts = address.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let known = Self.libpqKeywords
        var (own, others): ([String: String], [Substring]) = ([:], [])
        for item in parts.count > 1 ? parts[1].split(separator: "&") : [] {
            let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(pair[0])
            if Self.ownKeywords.contains(name) {
                own[name] = pair.count > 1 ? String(pair[1]) : ""
            } else if known.contains(name) || name == "ssl" {
                others.append(item)
            } else {
                throw .unknownParameter(name)
            }
        }
        let rest = others.isEmpty ? "" : "?" + others.joined(separator: "&")
        parameters = Self.withDefaults(try Self.parse(String(parts[0]) + rest))
        hosts = Self.hosts(of: parameters)
        schema = own["schema"] ?? "welkin"
        guard Self.isSchemaName(schema) else { throw .unusableSchema }
        switch own["prepared"] ?? "yes" {
        case "yes": preparesStatements = true
        case "no": preparesStatements = false
        default: throw .unusablePrepared
        }
    }

    /// Whether a text is the address of a database of this kind.
    package static func isAddress(_ text: String) -> Bool {
        text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
    }

    /// Whether the address itself holds a password.
    package static func holdsPassword(_ address: String) -> Bool {
        if address.contains("password=") { return true }
        // What cannot be read may hold one.
        guard let parameters = try? parse(String(address.prefix { $0 != "?" })) else { return true }
        return !(parameters["password"] ?? "").isEmpty
    }

    /// The same database for tests that use schemas of their own.
    package func using(schema: String) throws(StoreError) -> Self {
        guard Self.isSchemaName(schema) else { throw .unusableSchema }
        return Self(parameters: parameters, schema: schema, preparesStatements: preparesStatements)
    }

    private init(parameters: [String: String], schema: String, preparesStatements: Bool) {
        self.parameters = parameters
        hosts = Self.hosts(of: parameters)
        self.schema = schema
        self.preparesStatements = preparesStatements
    }

    /// The values that errors show.
    var details: [String: String] {
        var details = ["schema": schema]
        for (name, key) in [("host", "host"), ("port", "port"), ("dbname", "database"), ("user", "user")] {
            details[key] = parameters[name]
        }
        return details
    }

    /// The password, which is removed from every text of libpq.
    var password: String? {
        parameters["password"] ?? getenv("PGPASSWORD").map { String(cString: $0) }
    }
}

extension PostgresConfiguration: CustomStringConvertible {
    /// The address without the password, for logs.
    package var description: String {
        let user = parameters["user"].map { $0 + "@" } ?? ""
        let port = parameters["port"].map { ":" + $0 } ?? ""
        return "postgres://\(user)\(parameters["host"] ?? "")\(port)/\(parameters["dbname"] ?? "")?schema=\(schema)"
    }
}

extension PostgresConfiguration {
    private static let ownKeywords: Set<String> = ["schema", "prepared"]

    private static var libpqKeywords: Set<String> {
        guard let options = PQconndefaults() else { return [] }
        defer { PQconninfoFree(options) }
        return Set(sequence(options) { $0 }.map(\.key))
    }

    /// Returns the parameters in an address as libpq reads them.
    private static func parse(_ address: String) throws(StoreError) -> [String: String] {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(address, &message) else {
            // libpq's text may quote a part of the password.
            if let message { PQfreemem(message) }
            throw .unreadableAddress
        }
        defer { PQconninfoFree(options) }
        let pairs = sequence(options) { $0 }.compactMap { key, value in value.map { (key, $0) } }
        return Dictionary(pairs) { $1 }
    }

    private static func sequence(
        _ options: UnsafeMutablePointer<PQconninfoOption>, _ isKept: ((String, String?)) -> (String, String?)?
    ) -> [(key: String, value: String?)] {
        var found: [(key: String, value: String?)] = []
        var option = options
        while let keyword = option.pointee.keyword {
            if let pair = isKept((String(cString: keyword), option.pointee.val.map { String(cString: $0) })) {
                found.append((pair.0, pair.1))
            }
            option += 1
        }
        return found
    }

    /// Returns the parameters with one host each, as libpq divides the lists in them.
    private static func hosts(of parameters: [String: String]) -> [[String: String]] {
        let lists = ["host", "hostaddr", "port"].compactMap { name -> (String, [String])? in
            guard let value = parameters[name] else { return nil }
            return (name, value.split(separator: ",", omittingEmptySubsequences: false).map(String.init))
        }
        let count = lists.lazy.filter { $0.0 != "port" }.map(\.1.count).max() ?? 1
        // What libpq refuses, it shall refuse.
        guard count > 1, lists.allSatisfy({ $0.1.count == count || ($0.0 == "port" && $0.1.count == 1) }) else {
            return [parameters]
        }
        return (0..<count).map { index in
            var host = parameters
            for (name, values) in lists { host[name] = values.count == 1 ? values[0] : values[index] }
            return host
        }
    }

    private static func isSchemaName(_ name: String) -> Bool {
        guard let first = name.utf8.first, (1...63).contains(name.utf8.count) else { return false }
        let isLetter: (UInt8) -> Bool = { (97...122).contains($0) || $0 == 95 }
        return isLetter(first) && name.utf8.allSatisfy { isLetter($0) || (48...57).contains($0) }
            && !name.hasPrefix("pg_")
    }

    /// Adds what a cloud needs: a server that can be written to, dead connections noticed within seconds, TLS with verification
    /// unless the server is on this machine.
    private static func withDefaults(_ given: [String: String]) -> [String: String] {
        var parameters = [
            "application_name": "welkin", "client_encoding": "UTF8", "target_session_attrs": "read-write",
            "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3",
            "tcp_user_timeout": "15000", "gssencmode": "disable",
        ]
        let host = given["host"] ?? getenv("PGHOST").map { String(cString: $0) } ?? ""
        let isLocal = host.split(separator: ",").allSatisfy {
            $0.hasPrefix("/") || ["localhost", "127.0.0.1", "::1"].contains($0)
        }
        if !isLocal, getenv("PGSSLMODE") == nil { parameters["sslmode"] = "verify-full" }
        parameters.merge(given) { _, given in given }
        if parameters["sslmode"]?.hasPrefix("verify-") == true, parameters["sslrootcert"] == nil,
            getenv("PGSSLROOTCERT") == nil
        {
            parameters["sslrootcert"] = systemCertificates
        }
        return parameters
    }

    /// The certificates that the operating system trusts; nil: libpq's own place.
    private static var systemCertificates: String? {
        if PQlibVersion() >= 160_000 { return "system" }
        return [
            "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
        ].first { access($0, R_OK) == 0 }
    }
}

extension StoreError {
    private static let addressForm =
        "write it as postgres://user@host:port/database?sslmode=verify-full; percent-encode special characters of the password"

    fileprivate static let unreadableAddress = Self(
        code: .unavailable, reason: "the address of the database cannot be read", remedy: addressForm)

    fileprivate static func unknownParameter(_ name: String) -> Self {
        Self(
            code: .unavailable, reason: "the address of the database has an unknown parameter", remedy: addressForm,
            details: ["parameter": String(name.prefix(40))])
    }

    fileprivate static let unusableSchema = Self(
        code: .unavailable, reason: "the name of the schema cannot be used",
        remedy: "use 1 to 63 lower-case letters, digits and underscores, a letter first, not pg_")

    fileprivate static let unusablePrepared = Self(
        code: .unavailable, reason: "the parameter prepared of the database's address cannot be read",
        remedy: "write prepared=yes or prepared=no")
}
