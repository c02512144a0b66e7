import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Foundation

/// An operator's order as it is written. An unknown key is an error: a fault that never ends because of a mistyped key would be
/// noticed late.
struct FaultOrderBody: Decodable {
    enum Key: String, CodingKey, CaseIterable {
        case kind, email, userRecordName, seconds, bytes, retryAfter, id, all, zone, account, device
    }

    private var kind: String?
    private var email: String?
    private var userRecordName: String?
    private var seconds: Double?
    private var bytes: Int64?
    private var retryAfter: Bool?
    private var id: String?
    private var all: Bool?
    private var zone: String?
    private var account: Bool?
    private var device: String?

    /// Returns the keys that an endpoint takes besides those of the person.
    private static func keys(of endpoint: EndpointName) -> Set<Key> {
        switch endpoint {
        case .adminFaultsOrder: [.kind, .seconds, .bytes, .retryAfter]
        case .adminFaultsRemove: [.id, .all]
        case .adminTokensExpire, .adminZonesCompact, .adminZonesPurge: [.zone]
        case .adminKeysReset: [.zone, .account]
        case .adminDevicesRevoke: [.device]
        default: []
        }
    }

    /// Decodes the body of an endpoint's request.
    init(_ body: [UInt8], of endpoint: EndpointName) throws(RequestFailure) {
        try self.init(body, allowing: Self.keys(of: endpoint), hasPerson: endpoint != .adminFaultsRemove)
    }

    /// Decodes a body.
    ///
    /// - Throws: `badRequest` that names the key, never a value.
    init(_ body: [UInt8], allowing keys: Set<Key>, hasPerson: Bool = true) throws(RequestFailure) {
        do {
            let names = try JSONDecoder().decode(Names.self, from: Data(body)).names
            let known = keys.union(hasPerson ? [.email, .userRecordName] : []).map(\.rawValue)
            if let unknown = names.first(where: { !known.contains($0) }) {
                throw RequestFailure(
                    .badRequest, "\"\(Self.shown(unknown))\" is no key of this endpoint",
                    remedy: "It takes: \(known.sorted().joined(separator: ", ")).")
            }
            self = try JSONDecoder().decode(FaultOrderBody.self, from: Data(body))
        } catch let failure as RequestFailure {
            throw failure
        } catch DecodingError.typeMismatch(_, let context), DecodingError.dataCorrupted(let context) {
            guard let key = context.codingPath.last?.stringValue else { throw Self.notAnObject }
            throw RequestFailure(.badRequest, "bad value of \"\(Self.shown(key))\"")
        } catch {
            throw Self.notAnObject
        }
    }

    /// Returns the order that the keys make.
    func order(of endpoint: EndpointName) throws(RequestFailure) -> FaultOrder {
        switch endpoint {
        case .adminFaultsOrder:
            guard let kind, let known = Fault.Kind(rawValue: kind) else {
                throw RequestFailure(
                    .badRequest, "no such kind of fault",
                    remedy: "kind is one of: \(Fault.Kind.allCases.map(\.rawValue).joined(separator: ", ")).")
            }
            if let bytes, bytes < 0 { throw RequestFailure(.badRequest, "bad value of \"bytes\"") }
            return .fault(
                known, for: try person(), seconds: seconds, bytes: bytes.map(UInt64.init),
                sendsRetryAfter: retryAfter ?? true)
        case .adminFaultsRemove:
            switch (id, all) {
            case (let id?, nil): return .removeFault(id: id)
            case (nil, true?): return .removeAllFaults
            default: throw RequestFailure(.badRequest, "id or all is required", remedy: "Send id, or all as true.")
            }
        case .adminTokensExpire: return .expireTokens(of: try requiredPerson(), zone: zone)
        case .adminZonesCompact: return .compactZone(try required(zone, .zone), of: try requiredPerson())
        case .adminZonesPurge: return .purgeZone(try required(zone, .zone), of: try requiredPerson())
        case .adminKeysReset:
            guard account == true else { return .resetKeys(ofZone: zone, of: try requiredPerson()) }
            guard zone == nil else { throw RequestFailure(.badRequest, "zone and account exclude each other") }
            return .resetKeychain(of: try requiredPerson())
        case .adminDevicesRevoke: return .signOut(device: try required(device, .device), of: try requiredPerson())
        default: throw .endpointNotFound
        }
    }

    /// Returns the user that the order concerns; nil for all.
    private func person() throws(RequestFailure) -> FaultOrder.Person? {
        switch (email, userRecordName) {
        case (nil, nil): return nil
        case (let email?, nil): return .email(email)
        case (nil, let name?): return .user(UserID(name))
        case (_?, _?): throw RequestFailure(.badRequest, "email and userRecordName exclude each other")
        }
    }

    /// Returns the user that the order concerns.
    ///
    /// - Throws: `badRequest` when the body names none.
    func requiredPerson() throws(RequestFailure) -> FaultOrder.Person {
        guard let person = try person() else {
            throw RequestFailure(
                .badRequest, "email or userRecordName is required", remedy: "Send email or userRecordName.")
        }
        return person
    }

    private func required(_ value: String?, _ key: Key) throws(RequestFailure) -> String {
        guard let value, !value.isEmpty else { throw RequestFailure(.badRequest, "\"\(key.rawValue)\" is missing") }
        return value
    }

    /// Returns text from outside in a form that is safe in a response.
    private static func shown(_ key: String) -> String { String(key.filter { $0.isLetter || $0.isNumber }.prefix(30)) }

    private static let notAnObject = RequestFailure(.badRequest, "the body is no JSON object")

    /// All keys of an object.
    private struct Names: Decodable {
        var names: [String]

        private struct AnyKey: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init(from decoder: any Decoder) throws {
            names = try decoder.container(keyedBy: AnyKey.self).allKeys.map(\.stringValue).sorted()
        }
    }
}
