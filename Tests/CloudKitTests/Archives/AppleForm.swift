import Foundation

/// A keyed archive in the form of Apple's framework: its class names and keys, without a module.
struct AppleForm {
    /// A value in such an archive.
    indirect enum Value {
        case null
        case text(String)
        case bytes(Data)
        /// A number that is an object of its own, as in collections.
        case number(String)
        case object(Object)
    }

    /// A member of an object: numbers are written in place, all else in the table of objects.
    enum Member {
        case value(Value)
        case whole(Int)
        case real(Double)
        case flag(Bool)
        case list([Value])
    }

    struct Object {
        var classes: [String]
        var members: KeyValuePairs<String, Member>

        init(_ classes: String..., members: KeyValuePairs<String, Member>) {
            self.classes = classes + ["NSObject"]
            self.members = members
        }
    }

    private var table: [String] = ["<string>$null</string>"]

    /// Returns the archive of a root object as a property list.
    static func archive(_ root: Value) throws -> Data {
        var form = AppleForm()
        let top = form.reference(to: root)
        let text = """
            <?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict><key>$archiver</key><string>NSKeyedArchiver</string>\
            <key>$version</key><integer>100000</integer><key>$top</key><dict><key>root</key>\(top)</dict>\
            <key>$objects</key><array>\(form.table.joined())</array></dict></plist>
            """
        let list = try PropertyListSerialization.propertyList(from: Data(text.utf8), format: nil)
        return try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
    }

    private mutating func reference(to value: Value) -> String {
        switch value {
        case .null: return Self.reference(0)
        case .text(let text): return append("<string>\(text)</string>")
        case .bytes(let bytes): return append("<data>\(bytes.base64EncodedString())</data>")
        case .number(let number): return append(number)
        case .object(let object): return append(object)
        }
    }

    private mutating func append(_ entry: String) -> String {
        table.append(entry)
        return Self.reference(table.count - 1)
    }

    private static func reference(_ index: Int) -> String {
        "<dict><key>CF$UID</key><integer>\(index)</integer></dict>"
    }

    private mutating func append(_ object: Object) -> String {
        let place = table.count
        table.append("")
        var entry = ""
        for (key, member) in object.members {
            entry += "<key>\(key)</key>"
            switch member {
            case .value(let value): entry += reference(to: value)
            case .whole(let number): entry += "<integer>\(number)</integer>"
            case .real(let number): entry += "<real>\(number)</real>"
            case .flag(let flag): entry += flag ? "<true/>" : "<false/>"
            case .list(let values):
                var list = ""
                for value in values { list += reference(to: value) }
                entry += "<array>\(list)</array>"
            }
        }
        let names = object.classes.map { "<string>\($0)</string>" }.joined()
        let type = append(
            "<dict><key>$classname</key><string>\(object.classes[0])</string><key>$classes</key><array>\(names)</array></dict>"
        )
        table[place] = "<dict>\(entry)<key>$class</key>\(type)</dict>"
        return Self.reference(place)
    }
}

extension AppleForm.Value {
    static var nullObject: Self { .object(.init("NSNull", members: [:])) }

    static func list(_ values: [AppleForm.Value], _ type: String = "NSMutableArray") -> Self {
        .object(.init(type, members: ["NS.objects": .list(values)]))
    }

    static func dictionary(_ pairs: KeyValuePairs<String, AppleForm.Value>) -> Self {
        .object(
            .init(
                "NSMutableDictionary", "NSDictionary",
                members: [
                    "NS.keys": .list(pairs.map { .text($0.key) }), "NS.objects": .list(pairs.map(\.value)),
                ]))
    }

    static func date(_ seconds: Double) -> Self { .object(.init("NSDate", members: ["NS.time": .real(seconds)])) }

    static func url(_ text: String) -> Self {
        .object(.init("NSURL", members: ["NS.base": .value(.null), "NS.relative": .value(.text(text))]))
    }

    // MARK: CloudKit's objects

    static func zoneID(_ name: String = "Notes", owner: String = "__defaultOwner__") -> Self {
        .object(
            .init(
                "CKRecordZoneID",
                members: [
                    "ZoneName": .value(.text(name)), "ownerName": .value(.text(owner)),
                    "anonymousCKUserID": .value(.null), "databaseScopeKey": .whole(0),
                ]))
    }

    static func recordID(_ name: String) -> Self {
        .object(
            .init("CKRecordID", members: ["RecordName": .value(.text(name)), "ZoneID": .value(.zoneID())]))
    }

    static func reference(to name: String, action: Int = 0) -> Self {
        .object(
            .init(
                "CKReference", members: ["RecordID": .value(.recordID(name)), "ReferenceAction": .whole(action)]))
    }

    static func values(
        _ type: String, _ values: Self, original: Self = .dictionary([:]), changed: [String] = []
    ) -> Self {
        .object(
            .init(
                type, "CKRecordValueStore",
                members: [
                    "RecordValues": .value(values), "OriginalValues": .value(original),
                    "ChangedKeys": .value(.list(changed.map { .text($0) }, "NSMutableSet")),
                ]))
    }

    static func asset(_ url: String) -> Self {
        .object(
            .init(
                "CKAsset",
                members: [
                    "AssetFileURL": .value(.url(url)), "AssetSignature": .value(.null), "AssetSize": .whole(5),
                    "AssetHasSize": .flag(true), "RecordID": .value(.recordID("note-1")),
                ]))
    }

    static func location(_ latitude: Double, _ longitude: Double) -> Self {
        .object(
            .init(
                "CLLocation",
                members: [
                    "kCLLocationCodingKeyCoordinateLatitude": .real(latitude),
                    "kCLLocationCodingKeyCoordinateLongitude": .real(longitude),
                ]))
    }

    static func record() -> Self {
        .object(
            .init(
                "CKRecord",
                members: [
                    "RecordType": .value(.text("Note")), "RecordID": .value(.recordID("note-1")),
                    "ETag": .value(.text("k3x")), "RecordCtime": .value(.date(5)), "RecordMtime": .value(.null),
                    "CreatorUserRecordID": .value(.recordID("_abc")), "LastModifiedUserRecordID": .value(.null),
                    "ParentReference": .value(.reference(to: "folder")), "ShareReference": .value(.null),
                    "KnownToServer": .flag(true), "Permission": .whole(0), "PluginFields": .value(.null),
                    "ValueStore": .value(
                        .values(
                            "CKRecordValueStore",
                            .dictionary([
                                "title": .text("Hello"),
                                "name": .object(
                                    .init("NSMutableString", "NSString", members: ["NS.string": .value(.text("A"))])),
                                "count": .number("<integer>3</integer>"), "flag": .number("<true/>"),
                                "ratio": .number("<real>0.5</real>"), "when": .date(7), "bytes": .bytes(Data([1, 2])),
                                "tags": .list([.text("a"), .nullObject, .text("b")]), "gone": .nullObject,
                                "never": .null, "owner": .reference(to: "o", action: 1),
                                "file": .asset("file:///tmp/a%20b"), "place": .location(52.5, 13.4),
                            ]),
                            original: .dictionary(["title": .text("Old"), "count": .nullObject]),
                            changed: ["title", "count"])),
                    "EncryptedValueStore": .value(
                        .values(
                            "CKEncryptedRecordValueStore", .dictionary(["secret": .text("s")]),
                            original: .dictionary(["secret": .nullObject]), changed: ["secret"])),
                ]))
    }

    static func identity(_ user: String, email: String?) -> Self {
        .object(
            .init(
                "CKUserIdentity",
                members: [
                    "HasICloudAccount": .flag(true), "UserRecordID": .value(.recordID(user)),
                    "ContactIdentifiers": .value(.list([], "NSArray")), "ProtectionData": .value(.null),
                    "LookupInfo": .value(
                        .object(
                            .init(
                                "CKUserIdentityLookupInfo",
                                members: [
                                    "EmailAddress": .value(email.map { .text($0) } ?? .null),
                                    "PhoneNumber": .value(.null), "RecordID": .value(.recordID(user)),
                                    "ReportsMissing": .flag(false),
                                ]))),
                    "NameComponents": .value(
                        .object(
                            .init(
                                "NSPersonNameComponents",
                                members: [
                                    "NS.nameComponentsPrivate": .value(
                                        .object(
                                            .init(
                                                "_NSPersonNameComponentsData",
                                                members: [
                                                    "NS.givenName": .value(.text("Ada")),
                                                    "NS.familyName": .value(.text("Berg")),
                                                    "NS.nickname": .value(.null),
                                                ])))
                                ]))),
                ]))
    }

    static func participant(
        _ id: String, role: Int, permission: Int, acceptance: Int, isCurrent: Bool = false
    ) -> Self {
        .object(
            .init(
                "CKShareParticipant",
                members: [
                    "ParticipantID": .value(.text(id)), "Type": .whole(role), "Permission": .whole(permission),
                    "AcceptanceStatus": .whole(acceptance), "IsCurrentUser": .flag(isCurrent),
                    "InviterID": .value(.null),
                    "UserIdentity": .value(.identity("_" + id, email: id + "@example.com")),
                ]))
    }

    static func share() -> Self {
        .object(
            .init(
                "CKShare", "CKRecord",
                members: [
                    "RecordType": .value(.text("cloudkit.share")), "RecordID": .value(.recordID("Share-1")),
                    "ETag": .value(.text("s1")), "RootRecordID": .value(.recordID("note-1")),
                    "ValueStore": .value(
                        .values("CKRecordValueStore", .dictionary(["cloudkit.title": .text("My notes")]))),
                    "EncryptedValueStore": .value(.values("CKEncryptedRecordValueStore", .dictionary([:]))),
                    "Participants": .value(
                        .list([
                            .participant("owner", role: 1, permission: 3, acceptance: 2, isCurrent: true),
                            .participant("ben", role: 3, permission: 2, acceptance: 1),
                        ])), "PublicPermission": .whole(2),
                    "URL": .value(.url("https://www.example.com/share/0abcDEF#My_notes")),
                    "AddedParticipantIDs": .value(.list([], "NSMutableSet")), "ContainerID": .value(.containerID),
                    "PublicPCS": .value(.null), "RoutingKey": .value(.text("0a")),
                ]))
    }

    static var containerID: Self {
        .object(
            .init(
                "CKContainerID",
                members: ["ContainerIdentifier": .value(.text("iCloud.example")), "Environment": .whole(1)]))
    }

    static func metadata() -> Self {
        .object(
            .init(
                "CKShareMetadata",
                members: [
                    "ContainerID": .value(.containerID), "Share": .value(.share()), "RootRecord": .value(.null),
                    "RootRecordID": .value(.recordID("note-1")), "RootRecordType": .value(.text("Note")),
                    "OwnerIdentity": .value(.identity("_owner", email: nil)), "ParticipantStatus": .whole(1),
                    "ParticipantPermission": .whole(2), "ParticipantType": .whole(3),
                    "CallingParticipant": .value(
                        .participant("ben", role: 3, permission: 2, acceptance: 1, isCurrent: true)),
                    "PrivateToken": .value(.bytes(Data([1]))), "InvitationToken": .value(.null),
                ]))
    }

    static func cursor() -> Self {
        .object(
            .init(
                "CKQueryCursor",
                members: ["CursorData": .value(.bytes(Data([1, 2, 3]))), "ZoneID": .value(.zoneID())]))
    }

    static func zone() -> Self {
        .object(
            .init(
                "CKRecordZone",
                members: [
                    "ZoneID": .value(.zoneID()), "Capabilities": .whole(7), "ShareReference": .value(.null),
                    "ClientChangeToken": .value(.null), "DeviceCount": .whole(2),
                ]))
    }

    static func changeToken() -> Self {
        .object(.init("CKServerChangeToken", members: ["ChangeTokenData": .value(.bytes(Data([9])))]))
    }
}
