// swift-tools-version: 6.2
import PackageDescription

// Measures clouds inside tests as an app's tests have them: through the product CloudKitTesting of the parent package.

let package = Package(
    name: "test-cloud-bench",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "welkin", path: "../..")],
    targets: [
        .executableTarget(
            name: "test-cloud-bench",
            dependencies: [
                .product(name: "CloudKit", package: "welkin"), .product(name: "CloudKitTesting", package: "welkin"),
            ],
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)])
    ]
)
