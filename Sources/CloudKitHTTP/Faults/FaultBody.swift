import CloudKitModel
import CloudKitServer
import Foundation

/// An operator's order as it is written. A key that means nothing to its endpoint is an error: a fault without its end because of a
/// slip of the pen would be found out late.
struct FaultBody: Decodable {
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

    /// What an endpoint takes besides the person.
    private static func keys(of endpoint: Endpoint) -> Set<Key> {
        switch endpoint {
        case .adminFaultsOrder: [.kind, .seconds, .bytes, .retryAfter]
        case .adminFaultsRemove: [.id, .all]
        case .adminTokensExpire, .adminZonesCompact, .adminZonesPurge: [.zone]
        case .adminKeysReset: [.zone, .account]
        case .adminDevicesRevoke: [.device]
        default: []
        }
    }

    init(_ body: [UInt8], of endpoint: Endpoint) throws(RequestFailure) {
        try self.init(body, allowing: Self.keys(of: endpoint), hasPerson: endpoint != .adminFaultsRemove)
    }

    /// - Throws: `badRequest` that names the key, never a value.
    init(_ body: [UInt8], allowing keys: Set<Key>, hasPerson: Bool = true) throws(RequestFailure) {
        do {
            let names = try JSONDecoder().decode(Names.self, from: Data(body)).names
            let known = keys.union(hasPerson ? [.email, .userRecordName] : []).map(\.rawValue)
            if let stranger = names.first(where: { !known.contains($0) }) {
                throw RequestFailure(
                    .badRequest, "\"\(Self.shown(stranger))\" is no key of this endpoint",
                    remedy: "It takes: \(known.sorted().joined(separator: ", ")).")
            }
            self = try JSONDecoder().decode(FaultBody.self, from: Data(body))
        } catch let failure as RequestFailure {
            throw failure
        } catch DecodingError.typeMismatch(_, let context), DecodingError.dataCorrupted(let context) {
            guard let key = context.codingPath.last?.stringValue else { throw Self.noObject }
            throw RequestFailure(.badRequest, "bad value of \"\(Self.shown(key))\"")
        } catch {
            throw Self.noObject
        }
    }

    /// The order that the keys make.
    func order(_ endpoint: Endpoint) throws(RequestFailure) -> FaultOrder {
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
                tellsWait: retryAfter ?? true)
        case .adminFaultsRemove:
            switch (id, all) {
            case (let id?, nil): return .removeFault(id: id)
            case (nil, true?): return .removeAllFaults
            default: throw RequestFailure(.badRequest, "which fault is to go?", remedy: "Send id, or all as true.")
            }
        case .adminTokensExpire: return .expireTokens(of: try somebody(), zone: zone)
        case .adminZonesCompact: return .compactZone(try needed(zone, .zone), of: try somebody())
        case .adminZonesPurge: return .purgeZone(try needed(zone, .zone), of: try somebody())
        case .adminKeysReset:
            guard account == true else { return .resetKeys(ofZone: zone, of: try somebody()) }
            guard zone == nil else { throw RequestFailure(.badRequest, "zone and account exclude each other") }
            return .resetKeychain(of: try somebody())
        case .adminDevicesRevoke: return .signOut(device: try needed(device, .device), of: try somebody())
        default: throw Route.notFound
        }
    }

    /// Who it is about; nil: everybody.
    private func person() throws(RequestFailure) -> FaultOrder.Person? {
        switch (email, userRecordName) {
        case (nil, nil): return nil
        case (let email?, nil): return .email(email)
        case (nil, let name?): return .user(UserID(name))
        case (_?, _?): throw RequestFailure(.badRequest, "email and userRecordName exclude each other")
        }
    }

    func somebody() throws(RequestFailure) -> FaultOrder.Person {
        guard let person = try person() else {
            throw RequestFailure(.badRequest, "whose?", remedy: "Send email or userRecordName.")
        }
        return person
    }

    private func needed(_ value: String?, _ key: Key) throws(RequestFailure) -> String {
        guard let value, !value.isEmpty else { throw RequestFailure(.badRequest, "\"\(key.rawValue)\" is missing") }
        return value
    }

    /// Text from outside on its way into an answer.
    private static func shown(_ key: String) -> String { String(key.filter { $0.isLetter || $0.isNumber }.prefix(30)) }

    private static let noObject = RequestFailure(.badRequest, "the body is no JSON object")

    /// The keys of an object, whatever they are.
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
