import CloudKitModel
import JSONBytes

/// The keys of an error item or error object, gathered while it is read (docs/web-services.md §3.4, §5.1).
struct ErrorKeys {
    var word: String?
    var reason: String?
    var uuid: String?
    var retryAfter: Double?
    var redirectURL: String?
    /// The additive keys of the native surface.
    var name: String?
    var nativeCode: Int?
    var nativeSubcode: Int?
    var remedy: String?
    var serverRecord: Record?
    var restoredTo: Int64?
    var lastVersion: Int64?

    /// Reads the value of `key` if it is one of an error; false, nothing consumed, if it is not.
    mutating func read(_ key: JSONText, _ reader: inout JSONReader, zoneID: ZoneID?) throws -> Bool {
        switch key {
        case "serverErrorCode": word = try reader.stringIfAny()
        case "reason": reason = try reader.stringIfAny()
        case "uuid": uuid = try reader.stringIfAny()
        case "retryAfter": retryAfter = try reader.doubleIfAny()
        case "redirectURL", "redirectUrl": redirectURL = try reader.stringIfAny()
        case "failure": name = try reader.stringIfAny()
        case "nativeCode": nativeCode = try reader.intIfAny()
        case "nativeSubcode": nativeSubcode = try reader.intIfAny()
        case "remedy": remedy = try reader.stringIfAny()
        case "serverRecord": serverRecord = try reader.readNull() ? nil : try Record(reading: &reader, zoneID: zoneID)
        case "restoredTo": restoredTo = try reader.int64IfAny()
        case "lastVersion": lastVersion = try reader.int64IfAny()
        default: return false
        }
        return true
    }

    /// The failure; nil if there was no error code.
    var failure: RequestFailure? {
        guard let word else { return nil }
        var failure = RequestFailure(
            RequestFailure.Code(
                word: word, name: name, native: nativeCode, subcode: nativeSubcode, reason: reason ?? ""),
            reason ?? word,
            remedy: remedy, retryAfter: retryAfter, serverRecord: serverRecord)
        failure.requestID = uuid
        failure.restoredTo = restoredTo
        failure.lastVersion = lastVersion.flatMap(UInt64.init(exactly:))
        return failure
    }
}
