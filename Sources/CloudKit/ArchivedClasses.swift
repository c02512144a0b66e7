import CoreLocation
import Foundation

/// A class whose archives are read without ending the process, whatever they hold.
///
/// Do not adopt the protocol: it selects ``Foundation/NSKeyedUnarchiver/unarchivedObject(ofClass:from:)`` of this module.
public protocol _ArchivedClass: NSSecureCoding {}

extension CKRecord: _ArchivedClass {}
extension CKRecordID: _ArchivedClass {}
extension CKRecordZone: _ArchivedClass {}
extension CKRecordZoneID: _ArchivedClass {}
extension CKReference: _ArchivedClass {}
extension CKAsset: _ArchivedClass {}
extension CKServerChangeToken: _ArchivedClass {}
extension CKQuery: _ArchivedClass {}
extension CKQueryCursor: _ArchivedClass {}
extension CKShareParticipant: _ArchivedClass {}
extension CKShareMetadata: _ArchivedClass {}
extension CKSubscription: _ArchivedClass {}
extension CKNotificationInfo: _ArchivedClass {}
extension CKUserIdentity: _ArchivedClass {}
extension CKUserIdentityLookupInfo: _ArchivedClass {}
extension CLLocation: _ArchivedClass {}

extension NSKeyedUnarchiver {
    /// Returns the root object of an archive.
    ///
    /// Foundation's own function ends the process when the root is of another class.
    ///
    /// - Throws: `CocoaError.coderReadCorrupt` when the archive is damaged or its root is of another class.
    public static func unarchivedObject<DecodedObjectType>(
        ofClass cls: DecodedObjectType.Type, from data: Data
    ) throws -> DecodedObjectType? where DecodedObjectType: NSObject, DecodedObjectType: _ArchivedClass {
        guard BinaryPropertyList.isReadable(data) else { throw damaged("The archive is damaged") }
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
        unarchiver.requiresSecureCoding = true
        unarchiver.decodingFailurePolicy = .setErrorAndReturn
        if let archive = ArchivedObject(unarchiver) {
            let name = archive.object(NSKeyedArchiveRootObjectKey)?.className
            guard let name, AppleClassNames.type(named: name) is DecodedObjectType.Type else {
                throw damaged("The archive holds an object of class \(name ?? "unknown"), not \(cls)")
            }
        }
        let object = unarchiver.decodeObject(of: [cls], forKey: NSKeyedArchiveRootObjectKey)
        if let error = unarchiver.error { throw error }
        return object as? DecodedObjectType
    }

    private static func damaged(_ reason: String) -> CocoaError {
        CocoaError(.coderReadCorrupt, userInfo: [NSDebugDescriptionErrorKey: reason])
    }
}

/// The names of classes in archives of Apple's framework, which have no module.
enum AppleClassNames {
    private static let classes: [String: AnyClass] = [
        "CKRecord": CKRecord.self, "CKRecordID": CKRecordID.self, "CKRecordZone": CKRecordZone.self,
        "CKRecordZoneID": CKRecordZoneID.self, "CKReference": CKReference.self, "CKAsset": CKAsset.self,
        "CKServerChangeToken": CKServerChangeToken.self, "CKQueryCursor": CKQueryCursor.self,
        "CKShare": CKShare.self, "CKShareParticipant": CKShareParticipant.self,
        "CKShareMetadata": CKShareMetadata.self, "CKUserIdentity": CKUserIdentity.self,
        "CKUserIdentityLookupInfo": CKUserIdentityLookupInfo.self, "CLLocation": CLLocation.self,
    ]

    /// They have to be known before the app's first line, which may read an archive: the app's start runs this.
    fileprivate static func register() {
        for (name, type): (String, AnyClass) in classes {
            NSKeyedUnarchiver.setClass(type, forClassName: name)
        }
    }

    /// The class of a name in an archive, Apple's or one with a module.
    static func type(named name: String) -> AnyClass? {
        if let known: AnyClass = NSKeyedUnarchiver.class(forClassName: name) { return known }
        // Of other names Foundation looks for anything that they may be the mangled form of.
        guard name.utf8.allSatisfy({ $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "_") || isLetterOrDigit($0) }) else {
            return nil
        }
        return NSClassFromString(name)
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        byte >= 0x80 || Character(UnicodeScalar(byte)).isLetter || Character(UnicodeScalar(byte)).isNumber
    }
}

#if os(Linux)
    /// Called by the loader: no other code of a library runs without being called.
    @section(".init_array") @used
    private let registersClassesOfAppleArchives: @convention(c) () -> Void = { AppleClassNames.register() }
#endif
